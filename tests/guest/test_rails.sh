#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts joined by two rails: both are used, and a job outlives the loss of one. How long the recovery
# took is printed.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! in_guest; then
    needs_plugin net-ib
    guest --guests 2 --rxe 2 --timeout 280 --mtu 4096 -- "$@"
    exit 0
fi

start() { job "$name" 1 "$weft" "$@"; }
# shellcheck source=tests/guest/traffic.sh
. "$TREE/tests/guest/traffic.sh"
first() { [ "$GUEST" -eq 0 ]; }

sent() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts"; }
two_rails() {
    local before0 before1
    before0=$(sent rxe0) before1=$(sent rxe1)
    job "$name" 1 timeout 40 "$weft" perf all_reduce -n 2 -w 0 -b 1M -e 1M --set core.net=net-ib \
        --set net-ib.rails=2 >/tmp/said 2>&1 || die "exit code $?: $(cat /tmp/said)"
    ! first || all_right
    [ "$(sent rxe0)" -gt $((before0 + 100)) ] || die "rxe0 was not used"
    [ "$(sent rxe1)" -gt $((before1 + 100)) ] || die "rxe1 was not used"
}
# rail_goes NAME COMMAND…: the command takes a rail away in the second guest; the job ends well all the same
rail_goes() {
    local at=$1
    shift
    traffic -N 16 --set net-ib.rails=2 --set net-ib.devices= --set net-ib.retry="${retry:-7}"
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
# Nothing says that the rail is lost but that nobody acknowledges.
rail_silent() {
    local retry=3
    rail_goes silence impair rxe1 loss 100%
    first || heal rxe1
}

cases=(two_rails rail_lost rail_off rail_silent)
[ $# -eq 0 ] || cases=("$@")
for name in "${cases[@]}"; do
    barrier "$name"
    note "$name"
    "$name"
done
note done
