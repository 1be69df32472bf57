# SPDX-License-Identifier: BSD-3-Clause
# weft perf on device memory, over the CUDA runtime of threads: two devices with little memory.
. "$(dirname "$0")/common.sh"

fake=$build/lib/weft-test/kernel-cuda-fake.so
[ -e "$fake" ] || skip "kernel-cuda-fake is not built: no CUDA headers"
cuda=(--set core.kernel=kernel-cuda --set kernel-cuda.path="$fake")
small=(-b 8 -e 64 -f 8 -n 3)

# Ranks go round the devices, whatever they are; the list says which ones, and which are shared.
expect 0 "$weft" perf all_reduce -t 2 "${small[@]}" "${cuda[@]}"
all_right 2
says out '^#  Rank  0 Group  0 Pid +[0-9]+ on +[^ ]+ device  0 \[0001:3b:00\] Device of threads$'
says out '^#  Rank  1 Group  0 Pid +[0-9]+ on +[^ ]+ device  1 \[0001:3c:00\] Device of threads$'
! grep -q 'share devices' "$work/out" || die "two ranks on two devices share one"
expect 0 "$weft" perf all_reduce -P 3 "${small[@]}" "${cuda[@]}"
all_right 2
says out '^#  Rank  2 .* device  0 '
says out '^# Ranks share devices: up to 2 on one$'
expect 0 "$weft" perf all_reduce -g 2 -t 2 -R 1 "${small[@]}" "${cuda[@]}"
all_right 2
says out '^#  Rank  3 .* device  1 '
expect 0 "$weft" perf all_reduce -t 2 "${small[@]}" "${cuda[@]}" --set kernel-cuda.device=1
says out '^#  Rank  0 .* device  1 '
says out '^# Ranks share devices: up to 2 on one$'

expect 0 "$weft" perf all -t 2 -b 64 -e 64 -n 2 -R 1 -u 1 "${cuda[@]}"
says out '^# Out of bounds values : 0 OK$'
! grep -q SKIPPED "$work/out" || die "a collective was left out"

# What cannot be.
expect 3 "$weft" perf all_reduce -g 3 "${small[@]}" "${cuda[@]}"
says err 'ERR_ARG: -g 3: this process sees 2 devices; -t and -P put several ranks on one$'
expect 3 "$weft" perf all_reduce -t 2 -b 1M -e 1M "${cuda[@]}"
says err 'no room for 1048576 bytes per buffer: 1 ranks share [0-9]+ bytes of free memory of Device of threads$'
expect 5 "$weft" perf all_reduce -t 2 "${small[@]}" -G 2
says err '^weft: --cudagraph needs a kernel whose device has streams; host memory has none$'
[ "$(wc -l <"$work/err")" -eq 1 ] || die "more than one error line"
expect 6 "$weft" perf all_reduce -t 2 "${small[@]}" "${cuda[@]}" -G 2 --stats
says err 'does not go with'
