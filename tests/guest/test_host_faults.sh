#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Faults between two hosts: loss, delay, unlike MTUs, a cable, a host that stands still and one that is
# gone.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! in_guest; then
    needs_plugin net-ib
    guest --guests 2 --rxe 2 --timeout 200 --mtu 4096 -- "$@"
    exit 0
fi

start() { job "$name" 1 "$weft" "$@"; }
# shellcheck source=tests/guest/traffic.sh
. "$TREE/tests/guest/traffic.sh"
# both SIZE…: one job over both hosts; its table is right
both() {
    job "$name" 1 timeout 40 "$weft" perf all_reduce -n 2 -w 0 --set core.net=net-ib "$@" \
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
sent() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts"; }
two_rails() {
    local before0 before1
    before0=$(sent rxe0) before1=$(sent rxe1)
    both -b 1M -e 1M --set net-ib.rails=2
    [ "$(sent rxe0)" -gt $((before0 + 100)) ] || die "rxe0 was not used"
    [ "$(sent rxe1)" -gt $((before1 + 100)) ] || die "rxe1 was not used"
}
# rail_goes NAME COMMAND…: the command takes a rail away in the second guest; the job ends well all the same
rail_goes() {
    local at=$1
    shift
    traffic -N 30 --set net-ib.rails=2 --set net-ib.devices=
    ! first || has_begun
    barrier "begun-$at"
    first || "$@"
    until_true 60 ended || die "the job stands: $(cat /tmp/traffic /tmp/complaint)"
    wait "$traffic" || die "exit code $?: $(cat /tmp/traffic /tmp/complaint)"
    grep -E 'rail .* is lost .* recovered in [0-9.]+ ms' /tmp/complaint ||
        die "no rail was lost: $(cat /tmp/complaint)"
    cp /tmp/traffic /tmp/said
    ! first || all_right
    barrier "ended-$at"
}
rail_lost() {
    rail_goes cable cable_out rxe1
    first || cable_in rxe1
}
# Its queue pairs fail at once.
rail_off() {
    rail_goes interface port_down rxe1
    first || port_up rxe1
    until_true 5 test "$(gid_index rxe1)" -lt 16 || die "the address did not come back"
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
        sleep 100
    fi
    fails 12 'rank 1|rxe0'
}
# A job's ranks end together: by the signal, or by the other's farewell.
stop_jobs() {
    pkill -x weft
    wait "$traffic" 2>/dev/null
}

cases=(unlike_mtus two_rails rail_lost rail_off loss_and_delay cable_out_and_in host_pauses host_stops)
[ $# -eq 0 ] || cases=("$@")
for name in "${cases[@]}"; do
    barrier "$name"
    note "$name"
    "$name"
done
note done
