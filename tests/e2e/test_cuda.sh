# SPDX-License-Identifier: BSD-3-Clause
# kernel-cuda on a machine without a driver: it loads, and says what is missing and what helps.
. "$(dirname "$0")/common.sh"

[ -e "$build/lib/weft/kernel-cuda.so" ] || skip "kernel-cuda is not built"
cuda=(--set core.kernel=kernel-cuda)
expect 0 "$weft" info "${cuda[@]}"
says out '^  kernel-cuda 1: '
says out '^    device  .* = auto '
if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
    skip "this machine has a CUDA driver, see scripts/gpu-check"
fi
remedy='no CUDA driver on this machine \(libcuda\.so\.1: .*\); install the NVIDIA driver, or set core\.kernel = kernel-cpu$'
says out "^    cannot be used here: $remedy"
expect 3 "$weft" perf all_reduce -t 2 -b 8 -e 8 -n 2 "${cuda[@]}"
says err "^weft: rank [01] .*ERR_UNSUPPORTED: $remedy"
expect 3 "$weft" perf all_reduce -P 2 -b 8 -e 8 -n 2 "${cuda[@]}"
says err "^weft: rank [01] .*ERR_UNSUPPORTED: $remedy"
if [ ! -e /dev/nvidiactl ]; then
    expect 77 "$source_dir/scripts/gpu-check"
    says out '^gpu-check: no GPU here'
fi
# Options are checked before any device is looked for.
expect 3 "$weft" perf all_reduce -t 2 -b 8 -e 8 "${cuda[@]}" --set kernel-cuda.threads=1024
says err 'threads.*1024.*512'
expect 3 "$weft" info "${cuda[@]}" --set kernel-cuda.devices=0
says err 'did you mean device\?'
# Who does not ask for it does not meet it.
expect 0 "$weft" perf all_reduce -t 2 -b 8 -e 8 -n 2
all_right 1
