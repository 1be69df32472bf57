#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Faults between two hosts: loss, delay, unlike MTUs, a cable, a host that stands still and one that is
# gone.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! in_guest; then
    needs_plugin net-ib
    guest --guests 2 --rxe 2 --mtu 4096 -- "$@"
    exit 0
fi

start() { job "$name" 1 "$weft" "$@"; }
# shellcheck source=tests/guest/traffic.sh
. "$TREE/tests/guest/traffic.sh"
# both SIZE…: one job over both hosts; its table is right
both() {
    job "$name" 1 timeout "$patience" "$weft" perf all_reduce -n 2 -w 0 --set core.net=net-ib "$@" \
        >/tmp/said 2>&1 || die "exit code $?: $(cat /tmp/said)"
    [ "$GUEST" -ne 0 ] || all_right
}
first() { [ "$GUEST" -eq 0 ]; }

unlike_mtus() {
    first || ip link set n0 mtu 1500
    barrier mtu
    both -b 8 -e 64K -f 16
    first || ip link set n0 mtu 4216
}
loss_and_delay() {
    impair rxe0 loss 1% delay 2ms
    barrier impaired
    both -b 8 -e 64K -f 32 --set net-ib.timeout=14
    heal rxe0
}
cable_out_and_in() {
    traffic --set net-ib.port_patience=5s
    ! first || has_begun
    barrier begun
    if ! first; then
        cable_out rxe0
        sleep 0.5
        cable_in rxe0
    fi
    barrier cable
    ! first || goes_on
    barrier went-on
    stop_jobs
}
host_pauses() {
    traffic --set net-ib.timeout=17
    ! first || has_begun
    barrier begun-pause
    first || pause_this_guest 1
    sleep 1
    barrier paused
    ! first || goes_on
    barrier went-on-after-pause
    stop_jobs
}
# The last case: one guest is no more.
host_stops() {
    traffic --set net-ib.timeout=14 --set boot.unresponsive=4s
    ! first || has_begun
    barrier begun-stop
    if ! first; then
        stop_this_guest
        sleep $((2 * patience))
    fi
    fails 'rank 1|rxe0'
}

cases=(unlike_mtus loss_and_delay cable_out_and_in host_pauses host_stops)
[ $# -eq 0 ] || cases=("$@")
for name in "${cases[@]}"; do
    barrier "$name"
    note "$name"
    "$name"
done
note done
