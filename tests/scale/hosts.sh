# SPDX-License-Identifier: BSD-3-Clause
# Sourced: network namespaces that stand for hosts, joined by a bridge.

# hosts_up PREFIX COUNT: fails where this user may not make them.
hosts_up() {
    local prefix=$1 count=$2 h
    ip link add "$prefix" type bridge 2>/dev/null && ip link set "$prefix" up || return 1
    for ((h = 0; h < count; h++)); do
        ip netns add "$prefix$h" &&
            ip link add "$prefix-$h" type veth peer name eth0 netns "$prefix$h" &&
            ip link set "$prefix-$h" master "$prefix" up &&
            ip -n "$prefix$h" address add "10.251.0.$((h + 1))/24" dev eth0 &&
            ip -n "$prefix$h" link set eth0 up &&
            ip -n "$prefix$h" link set lo up || return 1
    done
}

# hosts_down PREFIX COUNT
hosts_down() {
    local prefix=$1 count=$2 h
    for ((h = 0; h < count; h++)); do
        ip netns delete "$prefix$h" 2>/dev/null
    done
    ip link delete "$prefix" 2>/dev/null
}
