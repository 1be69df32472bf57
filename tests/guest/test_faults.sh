#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Faults inside one host: every one ends in success or in a typed error that names the cause, in time.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! in_guest; then
    needs_plugin net-ib
    guest --rxe 2 --mtu 4096 -- "$@"
    exit 0
fi

one() { "$weft" perf all_reduce -P 2 -n 1 -w 0 --set core.net=net-ib "$@"; }
export -f one
export weft
start() { exec "$weft" "$@" -P 2; }
# shellcheck source=tests/guest/traffic.sh
. "$TREE/tests/guest/traffic.sh"

# Each case is a function; the names of some may be given.
cable_out_shortly() {
    traffic --set net-ib.port_patience=5s
    has_begun
    cable_out rxe0
    sleep 0.5
    cable_in rxe0
    goes_on
    stop_traffic
}
cable_out_for_good() {
    traffic
    has_begun
    cable_out rxe0
    fails 'rxe0.*(port|down)|port.*rxe0'
    cable_in rxe0
}
interface_off_and_on() {
    traffic
    has_begun
    port_down rxe0
    fails 'rxe0'
    port_up rxe0
    until_true has_address rxe0 || die "the address did not come back"
    expect 0 one -b 64K -e 64K --set net-ib.devices==rxe0
    all_right
}
memlock() {
    expect 3 with_memlock 64 bash -c 'one -b 1M -e 1M'
    cat /tmp/said
    says 'memlock|ulimit -l'
}
wrong_gid_index() {
    expect 3 one -b 8 -e 8 --set net-ib.gid_index=200
    cat /tmp/said
    says 'GID|gid'
}
few_objects() {
    local objects code failed=0
    for objects in 0 1 5 7 12; do
        code=0
        with_objects "$objects" timeout "$patience" bash -c 'one -b 8 -e 64K -f 8' \
            >/tmp/said 2>&1 || code=$?
        [ "$code" -eq 0 ] && all_right && continue
        failed=$((failed + 1))
        grep weft: /tmp/said | sed "s/^/$objects objects: /"
        [ "$code" -eq 3 ] || die "exit code $code with $objects objects: $(cat /tmp/said)"
        says '^weft: '
    done
    [ "$failed" -gt 0 ] || die "the limit of objects had no effect"
}
every_mtu() {
    local mtu
    for mtu in 256 1024 4096; do
        ip link set n0 mtu $((mtu + 120))
        expect 0 ibv_devinfo -d rxe0
        says "active_mtu:[[:space:]]*$mtu "
        expect 0 one -b 100 -e $((mtu * 64)) -f 20 --set net-ib.devices==rxe0
        all_right
    done
}
# Soft-RoCE has GIDs of version 2 only; where a kernel has others, they are used.
roce_versions() {
    expect 0 one -b 8 -e 64K -f 64 --set net-ib.roce_version=2
    all_right
    if grep -qsx 'IB/RoCE v1' /sys/class/infiniband/rxe0/ports/1/gid_attrs/types/*; then
        expect 0 one -b 8 -e 64K -f 64 --set net-ib.roce_version=1
        all_right
    else
        note "this kernel has no RoCE v1: asking for it must be refused"
        expect 3 one -b 8 -e 8 --set net-ib.roce_version=1
        says 'roce_version'
    fi
}
every_option() {
    local set
    for set in qps=4 rails=2 "qps=3 split_bytes=4K" inline=0 adaptive_routing=on \
        relaxed_ordering=off address_family=ipv6 "rails=2 qps=2 split=no"; do
        # shellcheck disable=SC2046,SC2086
        expect 0 one -b 8 -e 1M -f 64 $(printf -- '--set net-ib.%s ' $set)
        all_right
    done
}

cases=(cable_out_shortly cable_out_for_good interface_off_and_on peer_killed memlock wrong_gid_index
    few_objects every_mtu every_option roce_versions)
[ $# -eq 0 ] || cases=("$@")
for name in "${cases[@]}"; do
    note "$name"
    "$name"
done
note done
