# SPDX-License-Identifier: BSD-3-Clause
# Sourced: two network namespaces that stand for hosts, joined by pairs of virtual interfaces that stand
# for rails. Rail R is the network 10.250.R.0/24, and the interface rR of each host.

# rails_up PREFIX COUNT RATE: each way of a rail carries RATE, in the words of tc. Fails, and says why,
# where this user may not make them or the kernel cannot shape.
rails_up() {
    local prefix=$1 count=$2 rate=$3 h r
    for h in ip tc; do
        command -v $h >/dev/null || { echo "no program $h" >&2; return 1; }
    done
    for h in 0 1; do
        ip netns add "$prefix$h" && ip -n "$prefix$h" link set lo up || return 1
    done
    for ((r = 0; r < count; r++)); do
        ip link add "r$r" netns "${prefix}0" type veth peer name "r$r" netns "${prefix}1" || return 1
        for h in 0 1; do
            ip -n "$prefix$h" address add "10.250.$r.$((h + 1))/24" dev "r$r" &&
                ip -n "$prefix$h" link set "r$r" up &&
                tc -n "$prefix$h" qdisc add dev "r$r" root tbf rate "$rate" burst 64k latency 20ms ||
                return 1
        done
    done
}

# rail_bytes PREFIX RAIL: what host 0 has sent on it.
rail_bytes() {
    ip netns exec "${1}0" cat "/sys/class/net/r$2/statistics/tx_bytes" 2>/dev/null ||
        ip -n "${1}0" -s -j link show "r$2" | jq '.[0].stats64.tx.bytes'
}

# rail_swallow PREFIX RAIL: packets on it vanish, and nobody is told.
rail_swallow() {
    local h
    for h in 0 1; do
        tc -n "$1$h" qdisc replace dev "r$2" root tbf rate 8bit burst 1 limit 1
    done
}

# rail_down PREFIX RAIL: the interface of host 0 is switched off.
rail_down() {
    ip -n "${1}0" link set "r$2" down
}

# rails_down PREFIX
rails_down() {
    ip netns delete "${1}0" 2>/dev/null
    ip netns delete "${1}1" 2>/dev/null
}

# rails_rank PREFIX NUMBER MEETING COMMAND…: the command as one of two ranks, each on a host of its own.
rails_rank() {
    local prefix=$1 number=$2 meeting=$3
    shift 3
    ip netns exec "$prefix$number" env RANK="$number" WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 \
        MASTER_PORT=29500 TORCHELASTIC_RUN_ID="$(basename "$meeting")" timeout -k 5 100 "$@" \
        --set boot.rendezvous="$meeting" --set core.net=net-socket
}
