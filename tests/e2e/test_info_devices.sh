# SPDX-License-Identifier: BSD-3-Clause
# `weft info` shows the devices of a kernel plugin: kernel-cuda over a CUDA runtime of threads.
. "$(dirname "$0")/common.sh"

fake=$build/lib/weft-test/kernel-cuda-fake.so
[ -e "$fake" ] || skip "no CUDA headers, kernel-cuda-fake is not built"
cuda=(--set core.kernel=kernel-cuda --set kernel-cuda.path="$fake")

expect 0 "$weft" info "${cuda[@]}" --set kernel-cuda.device=1
says out '^    device 0: Device of threads at 0001:3b:00\.0, capability 9\.0, [0-9.]+ GiB, NUMA node 0$'
says out '^    device 1 \(in use\): .* at 0001:3c:00\.0, .* GiB, [0-9.]+ GiB free, NUMA node 1$'
says out '^      GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1$'
says out '^      loads and stores in the memory of device 1, all atomics too$'

if command -v jq >/dev/null; then
    expect 0 "$weft" info "${cuda[@]}" --json
    jq -e '.kernel[0].devices | length == 2 and (.[0] | .chosen and .memory_free == 1000 and .numa == 0)
        and (.[1] | .pci == "0001:3c:00.0" and .memory_bytes == 5000 and (has("memory_free") | not)
            and .reaches == [{index: 0, access: true, atomics: true, rank: 3}])' "$work/out" >/dev/null ||
        die "not the devices in JSON"
fi

# A device that cannot be had is one line with its remedy, and the rest is told.
expect 0 "$weft" info "${cuda[@]}" --set kernel-cuda.device=7
says out '^    cannot be used here: device = 7: this process sees CUDA devices 0 to 1$'
says out '^tuner$'
