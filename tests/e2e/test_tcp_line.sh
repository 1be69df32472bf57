# SPDX-License-Identifier: BSD-3-Clause
# TCP fills a line: two ranks in network namespaces of their own, joined by a pair of virtual interfaces
# of 1 Gbit/s each way. The bound is loose: a busy machine must pass it.
. "$(dirname "$0")/common.sh"
command -v ip >/dev/null && command -v tc >/dev/null && command -v jq >/dev/null || skip "no ip, tc or jq"
[ "${E2E_SANITIZE:-}" = "" ] || [ "${E2E_SANITIZE:-}" = OFF ] || skip "a sanitizer is no measure"

a=weft-$$-a b=weft-$$-b
remove() {
    ip netns del "$a" 2>/dev/null
    ip netns del "$b" 2>/dev/null
    rm -rf "$work"
}
trap remove EXIT
ip netns add "$a" 2>/dev/null && ip netns add "$b" || skip "may not make network namespaces"
ip link add wft0 netns "$a" type veth peer name wft0 netns "$b" 2>/dev/null || skip "no veth"
number=1
for space in "$a" "$b"; do
    ip -n "$space" link set lo up
    ip -n "$space" addr add "10.77.0.$number/24" dev wft0
    ip -n "$space" link set wft0 up
    tc -n "$space" qdisc add dev wft0 root tbf rate 1gbit burst 128k latency 20ms || skip "no tbf"
    number=2
done

mkdir -m 700 "$work/meet"
# rank NUMBER NAMESPACE SOCKETS
rank() {
    ip netns exec "$2" env RANK="$1" WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_PORT=29500 \
        TORCHELASTIC_RUN_ID="$a-$3" timeout -k 5 60 "$weft" perf all_reduce -b 8M -e 8M -n 8 -w 2 -c 1 -I 1 \
        --json --set boot.rendezvous="$work/meet" --set core.net=net-socket \
        --set net-socket.sockets="$3" >"$work/out$1" 2>"$work/err"
}
for sockets in 1 2 4; do
    rank 1 "$b" "$sockets" &
    rank 0 "$a" "$sockets" || die "rank 0 with $sockets sockets"
    wait $! || die "rank 1 with $sockets sockets"
    cp "$work/out0" "$work/out"
    # Each rank sends 8 MiB each way; the line takes 67 ms for it. The least of all calls counts: what else
    # runs on the machine makes calls longer, never shorter.
    jq -e '.out_of_bounds.okay and ([.results[0].out_of_place, .results[0].in_place] | map(.per_iter.min) | min < 84000)' \
        "$work/out" >/dev/null ||
        die "slower than 0.8 of the line, or wrong, with $sockets sockets"
done
