#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# PyTorch's own NCCL backends, the new one and "nccl-legacy", with 2 and 4 processes on devices of threads:
#   TRY_NCCL_TORCH=PYTHON ctest --preset release -L nccl    # or scripts/test-nccl
# PYTHON is an interpreter with torch 2.15. Its CUDA libraries may be stand-ins, but for libcudart.
python=${TRY_NCCL_TORCH:-}
. "$(dirname "$0")/../../e2e/common.sh"
[ -n "$python" ] || skip "LEFT OUT: PyTorch's NCCL backends; TRY_NCCL_TORCH is not set"
[ -z "${E2E_SANITIZE:-}" ] || skip "a sanitized library cannot be loaded into programs that are not"
other=$build/lib/weft-test
torch=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])') ||
    die "$python has no torch"

# The driver's libraries, which torch wants to find: every function that it looks up exists and fails.
mkdir "$work/driver"
{
    strings "$torch/lib/libc10_cuda.so" "$torch/lib/libtorch_cuda.so" |
        grep -E '^cu[A-Z][A-Za-z0-9_]*$' | grep -vE '^(cublas|cuda|cudnn|cufft|cusparse|cusolver|cuda[A-Z])' |
        grep -vx cuDevicePrimaryCtxGetState | sort -u | sed 's/.*/int &(void) { return 801; }/'
    echo 'int cuDevicePrimaryCtxGetState(int d, unsigned *f, int *a) { *f = d & 0; *a = 1; return 0; }'
} >"$work/driver.c"
strings "$torch/lib/libc10_cuda.so" | grep -E '^nvml[A-Z][A-Za-z0-9_]*$' | sort -u |
    sed 's/.*/int &(void) { return 999; }/' >"$work/nvml.c"
cat >"$work/entry.c" <<'END'
#include <dlfcn.h>
/* torch asks the runtime for functions of the driver: what the one of threads has not is in ours. */
int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                     unsigned long long flags, int *result)
{
    int (*next)(const char *, void **, unsigned, unsigned long long, int *);
    *(void **)&next = dlsym(RTLD_NEXT, "cudaGetDriverEntryPointByVersion");
    if (next != 0 && next(name, function, version, flags, result) == 0 && *function != 0) {
        return 0;
    }
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    *function = driver != 0 ? dlsym(driver, name) : 0;
    if (*function == 0) {
        *function = dlsym(driver, "cuMemCreate"); /* fails as well as any */
    }
    if (result != 0) {
        *result = 0;
    }
    return 0;
}
END
runtime=$(basename "$other"/libcudart.so.*)
echo "$runtime { global: *; };" >"$work/entry.map"
library() { cc -w -shared -fPIC -D_GNU_SOURCE -Wl,-soname,"$2" "${@:3}" "$work/$1.c" -o "$work/driver/$2" || die "cc $1"; }
library driver libcuda.so.1
library nvml libnvidia-ml.so.1
library entry libentry.so -Wl,--version-script="$work/entry.map" -ldl

# The commands of the guides, where python3 is this one, and train.py the job of this test.
mkdir "$work/documented"
documented nccl-torch >"$work/documented/commands.sh"
printf '#!/bin/sh\nexec %s "$@"\n' "$python" >"$work/documented/python3"
chmod +x "$work/documented/python3"
cat >"$work/documented/train.py" <<END
import runpy, sys
sys.argv = ["train.py", "nccl"]
runpy.run_path("$(realpath "$(dirname "$0")")/torch_nccl.py", run_name="__main__")
END

export LD_LIBRARY_PATH=$work/driver WEFT_KERNEL_CUDA_PATH=$other/kernel-cuda-fake.so WEFT_EXEC_WAIT=sleep
export FAKE_CUDA="devices=4 free=17179869184" MASTER_ADDR=127.0.0.1
export LD_PRELOAD=$work/driver/libentry.so:$other/$runtime
# job NAME RANKS COMMAND…: the processes of a job, which all say that they are right.
job() {
    local name=$1 n=$2
    shift 2
    MASTER_PORT=$("$python" -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
    export MASTER_PORT WORLD_SIZE=$n
    rm -f "$work"/rank-*
    for ((rank = 0; rank < n; rank++)); do
        RANK=$rank LOCAL_RANK=$rank timeout -k 5 120 "$@" >"$work/rank-$rank" 2>&1 &
    done
    wait
    for ((rank = 0; rank < n; rank++)); do
        grep -q "^rank $rank right: " "$work/rank-$rank" || {
            tail -n 20 "$work/rank-$rank" >&2
            die "$name with $n processes: rank $rank"
        }
    done
    printf '%s, %d processes: %s\n' "$name" "$n" "$(grep -h '^rank 0 right' "$work/rank-0")"
}
for n in 2 4; do
    for backend in nccl nccl-legacy; do
        job $backend $n "$weft" nccl-run "$python" "$(dirname "$0")/torch_nccl.py" "$backend"
    done
done
cd "$work/documented" || exit 1
PATH=$work/documented:$build/bin:$PATH job documented 2 bash -e commands.sh
