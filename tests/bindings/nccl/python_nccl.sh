#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# CuPy's and nccl4py's bindings of NCCL, from their wheels, with 2 processes on devices of threads:
#   TRY_NCCL_PYTHON=PYTHON ctest --preset release -L nccl
# PYTHON is an interpreter with cupy-cuda13x and nccl4py (scripts/test-nccl makes one).
python=${TRY_NCCL_PYTHON:-}
. "$(dirname "$0")/../../e2e/common.sh"
[ -n "$python" ] || skip "LEFT OUT: CuPy and nccl4py; TRY_NCCL_PYTHON is not set"
[ -z "${E2E_SANITIZE:-}" ] || skip "a sanitized library cannot be loaded into programs that are not"
other=$build/lib/weft-test
export WEFT_KERNEL_CUDA_PATH=$other/kernel-cuda-fake.so WEFT_EXEC_WAIT=sleep
export FAKE_CUDA="devices=4 free=17179869184"
runtime=$(basename "$other"/libcudart.so.*)
for program in cupy nccl4py; do
    expect 0 env LD_PRELOAD="$other/$runtime" "$weft" nccl-run "$python" \
        "$(dirname "$0")/python_nccl.py" "$program"
    says out '^right: '
    cat "$work/out"
done
