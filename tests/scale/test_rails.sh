# SPDX-License-Identifier: BSD-3-Clause
# Several networks between two hosts, which are network namespaces: a connection uses all of them, goes
# on when one fails, and keeps to those that the options name. Rails are slow, so that the time of a
# transfer is theirs; bounds are loose, and bench/rails measures.
. "$(dirname "$0")/../e2e/common.sh"
. "$(dirname "$0")/rails.sh"
command -v jq >/dev/null || skip "no jq"
prefix=wr$$-
trap 'rails_down $prefix; rm -rf "$work"' EXIT
rails_up $prefix 4 100mbit 2>"$work/err" ||
    skip "no network namespaces with shaped rails here: $(tail -n 1 "$work/err")"

# job NAME ITERATIONS SETTING…: two ranks make all-reduces of 2 MiB. Leaves out0, out1, err0, err1.
job() {
    local name=$1 iterations=$2 setting settings=() first
    shift 2
    for setting in "$@"; do
        settings+=(--set "$setting")
    done
    mkdir -m 700 "$work/$name"
    set -- "$weft" perf all_reduce -b 2M -e 2M -n "$iterations" -w 1 -c 1 -I 1 --json "${settings[@]}"
    rails_rank $prefix 1 "$work/$name" "$@" >"$work/out1" 2>"$work/err1" &
    first=$!
    rails_rank $prefix 0 "$work/$name" "$@" >"$work/out0" 2>"$work/err0" || job_failed "$name" 0
    wait $first || job_failed "$name" 1
    jq -e '.out_of_bounds.okay' "$work/out0" >/dev/null || job_failed "$name" 0
}
job_failed() {
    cat "$work/err0" "$work/err1" >"$work/err"
    die "$1: rank $2"
}
time_of() { jq '.results[0].out_of_place.per_iter.p50 | floor' "$work/out0"; }
bytes_of_all() { for r in 0 1 2 3; do rail_bytes $prefix $r; done; }

# Namespaces are hosts to the prices too: an edge between them costs what the transport says.
mkdir -m 700 "$work/why"
rails_rank $prefix 1 "$work/why" "$weft" why all_reduce -b 8 -e 8 >"$work/out1" 2>&1 &
rails_rank $prefix 0 "$work/why" "$weft" why all_reduce -b 8 -e 8 >"$work/out" 2>"$work/err" ||
    die "weft why on two hosts"
wait $!
says out '^# between hosts: net-socket, 8 us'

# All rails carry their part. One takes 175 ms for 2 MiB, four 44.
job one 4 net-socket.rails=1
one=$(time_of)
readarray -t before < <(bytes_of_all)
job four 4
readarray -t after < <(bytes_of_all)
four=$(time_of)
sum=0
for r in 0 1 2 3; do
    sum=$((sum + after[r] - before[r]))
done
for r in 0 1 2 3; do
    [ $((8 * (after[r] - before[r]))) -gt $sum ] || die "rail $r carried $((after[r] - before[r])) of $sum bytes"
done
[ $((one * 10)) -gt $((four * 15)) ] || die "four rails take $four us, one takes $one us"

# Those that the option names, and no others.
before=("${after[@]}")
job named 1 net-socket.devices='=r1,10.250.2.0/24,r3,^r3'
readarray -t after < <(bytes_of_all)
[ $((after[1] - before[1])) -gt 1000000 ] && [ $((after[2] - before[2])) -gt 1000000 ] ||
    die "a rail that was named is not used"
[ $((after[3] - before[3])) -lt 100000 ] || die "a rail that was left out is used"

# One that is not there.
mkdir -m 700 "$work/missing"
pids=()
for number in 1 0; do
    rails_rank $prefix $number "$work/missing" "$weft" perf barrier --set net-socket.devices=r7 \
        >"$work/out$number" 2>"$work/err$number" &
    pids+=($!)
done
for pid in "${pids[@]}"; do
    wait "$pid" && die "an interface that is not there was taken"
done
says err0 '"r7"; there are: .*r0 10\.250\.0\.1.*r3 10\.250\.3\.1'

# A rail that fails on the way costs no call, however it fails.
for way in swallow down; do
    r=$([ $way = swallow ] && echo 1 || echo 2)
    (
        begun=$(rail_bytes $prefix $r)
        for ((i = 0; i < 600; i++)); do
            [ $(($(rail_bytes $prefix $r) - begun)) -lt 3000000 ] || break
            sleep 0.05
        done
        rail_$way $prefix $r
    ) &
    job $way 12
    wait
    cat "$work/err0" "$work/err1" >"$work/err"
    says err 'goes on without'
done

# Where each interface is a device, a call fails when one fails. The error names it; all ranks live, and what
# they shrink to keeps to the other.
mkdir -m 700 "$work/apart"
pids=()
for number in 1 0; do
    rails_rank $prefix $number "$work/apart" "$build/bin/rail_lost" 400 --set net-socket.bond=no \
        --set net-socket.devices==r0,r3 --set net-socket.rail_patience=0.1s --set plan.channels=2 \
        >"$work/out$number" 2>"$work/err$number" &
    pids+=($!)
done
begun=$(rail_bytes $prefix 3)
for ((i = 0; i < 600; i++)); do
    [ $(($(rail_bytes $prefix 3) - begun)) -lt 3000000 ] || break
    sleep 0.05
done
rail_swallow $prefix 3
for pid in "${pids[@]}"; do
    wait "$pid" || job_failed apart 0
done
cat "$work/out0" "$work/out1" >"$work/out"
[ "$(grep -c 'ERR_LINK: device r3 of net-socket failed: .*weft_comm_shrink' "$work/out")" -eq 2 ] ||
    die "the error does not say what failed"
for number in 0 1; do
    [ "$(grep -c 'warn net-socket: device r3 failed' "$work/err$number")" -le 1 ] || die "it is told more than once"
done
grep -q 'warn net-socket: device r3 failed; for a minute new links use other devices' "$work/err0" "$work/err1" ||
    die "no warning"
