# SPDX-License-Identifier: BSD-3-Clause
# weft perf on device memory, over the CUDA runtime of threads with two devices.
. "$(dirname "$0")/common.sh"

fake=$build/lib/weft-test/kernel-cuda-fake.so
[ -e "$fake" ] || skip "kernel-cuda-fake is not built: no CUDA headers"
cuda=(--set core.kernel=kernel-cuda --set kernel-cuda.path="$fake")
small=(-b 8 -e 32K -f 64 -n 3)
export FAKE_CUDA="free=1000000000 bus"

# Ranks go round the devices, whatever they are; the list says which ones, and which are shared.
expect 0 "$weft" perf all_reduce -t 2 "${small[@]}" "${cuda[@]}"
all_right 3
says out '^#  Rank  0 Group  0 Pid +[0-9]+ on +[^ ]+ device  0 \[0001:3b:00\] Device of threads$'
says out '^#  Rank  1 Group  0 Pid +[0-9]+ on +[^ ]+ device  1 \[0001:3c:00\] Device of threads$'
! grep -q 'share devices' "$work/out" || die "two ranks on two devices share one"
expect 0 "$weft" perf all_reduce -P 3 "${small[@]}" "${cuda[@]}"
all_right 3
says out '^#  Rank  2 .* device  0 '
says out '^# Ranks share devices: up to 2 on one$'
expect 0 "$weft" perf all_reduce -g 2 -t 2 -R 1 "${small[@]}" "${cuda[@]}"
all_right 3
says out '^#  Rank  3 .* device  1 '
expect 0 "$weft" perf all_reduce -t 2 "${small[@]}" "${cuda[@]}" --set kernel-cuda.device=1
says out '^#  Rank  0 .* device  1 '
says out '^# Ranks share devices: up to 2 on one$'

# Every collective, plain, and recorded and replayed.
expect 0 "$weft" perf all -t 2 -b 16K -e 16K -n 2 -R 1 -u 1 "${cuda[@]}"
says out '^# Out of bounds values : 0 OK$'
! grep -q SKIPPED "$work/out" || die "a collective was left out"
for how in '-t 3' '-P 3'; do
    # shellcheck disable=SC2086
    expect 0 "$weft" perf all $how -b 16K -e 16K -n 2 -G 3 -R 2 --set core.log=debug "${cuda[@]}"
    says out '^# Out of bounds values : 0 OK$'
    says out ' graph: 3 '
    says err '[1-9][0-9]* messages by reference, '
done

# More than one piece of the host goes through it; groups, blocking calls, the null stream, statistics.
expect 0 "$weft" perf all_gather -t 2 -b 9M -e 9M -n 1 "${cuda[@]}"
all_right 1
expect 0 "$weft" perf all_reduce -P 2 -m 3 "${small[@]}" -G 2 "${cuda[@]}"
all_right 3
for blocking in 1 2 3; do
    expect 0 "$weft" perf all_reduce -t 2 -z $blocking "${small[@]}" "${cuda[@]}"
    all_right 3
done
expect 0 "$weft" perf all_reduce -t 2 -y 1 -m 2 -C 1 -c 2 "${small[@]}" "${cuda[@]}"
all_right 3
expect 0 "$weft" perf all_reduce -t 2 --stats -I 1 -T 30 "${small[@]}" "${cuda[@]}"
says out '^#   out-of-place +min [0-9.]+  p50 '

if command -v jq >/dev/null; then
    expect 0 "$weft" perf all_reduce -P 3 -G 2 "${small[@]}" --json "${cuda[@]}"
    jq -e '(.results | length == 3 and all(.out_of_place | .nwrong == 0 and .device_time > 0 and .time > 0)) and
        .config.graph == 2 and (.config.devices | map(.device) == [0, 1, 0] and map(.sharers) == [2, 1, 2]) and
        .config.devices[1].device_hex == "0001:3c:00" and .config.devices[1].device_info == "Device of threads"' \
        "$work/out" >/dev/null || die "the JSON is not as expected"
fi

# A device that computes wrong is found out, recorded or not.
for graphs in 0 2; do
    expect 7 env FAKE_CUDA="$FAKE_CUDA wrong" "$weft" perf all_reduce -t 2 -b 32K -e 32K -n 1 -G $graphs "${cuda[@]}"
    says out '^# Out of bounds values : [1-9][0-9]* FAILED$'
done

# What takes too long is given up, and the device with it.
expect 4 env FAKE_CUDA=free=1000000000 "$weft" perf all_reduce -t 2 -b 64M -e 64M -n 150 -c 0 -T 1 "${cuda[@]}"
says err 'ERR_TIMEOUT'

# What cannot be.
expect 3 "$weft" perf all_reduce -g 3 "${small[@]}" "${cuda[@]}"
says err 'ERR_ARG: -g 3: this process sees 2 devices; -t and -P put several ranks on one$'
expect 3 env FAKE_CUDA=devices=1 "$weft" perf all_reduce -g 2 "${small[@]}" "${cuda[@]}"
says err 'ERR_ARG: -g 2: this process sees 1 device; '
expect 3 env FAKE_CUDA=free=1000000 "$weft" perf all_reduce -t 3 -b 1M -e 1M "${cuda[@]}"
says err 'no room for 1048576 bytes per buffer: 2 ranks share 1000000 free bytes of Device of threads on '
expect 0 env FAKE_CUDA=free=1000000 "$weft" perf all_reduce -t 2 -b 64K -e 1M -f 2 -n 1 "${cuda[@]}"
says out '^# Reducing maxBytes to 350000 due to memory limitation$'
all_right 3
expect 3 "$weft" perf all_reduce -t 3 -y 1 "${small[@]}" "${cuda[@]}"
says err '--stream_null: rank [02] is a thread of this process too and on the same device'
expect 5 "$weft" perf all_reduce -t 2 "${small[@]}" -G 2
says err '^weft: --cudagraph needs a kernel whose device has streams; host memory has none$'
[ "$(wc -l <"$work/err")" -eq 1 ] || die "more than one error line"
expect 6 "$weft" perf all_reduce -t 2 "${small[@]}" "${cuda[@]}" -G 2 --stats
says err 'does not go with'
