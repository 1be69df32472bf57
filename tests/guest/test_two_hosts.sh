#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two guests on private links are two hosts: verbs between them work, a job of four ranks, two on each, runs over
# TCP, and over net-ib both rails are used and a job outlives the loss of one. How long the recovery took is printed.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! in_guest; then
    needs_plugin net-ib
    guest --guests 2 --rxe 2 --mtu 4096 -- "$@"
    exit 0
fi

start() { job "$name" 1 "$weft" "$@"; }
# shellcheck source=tests/guest/traffic.sh
. "$TREE/tests/guest/traffic.sh"
first() { [ "$GUEST" -eq 0 ]; }

# pair COMMAND…: the first guest serves, the other one is the client; the server may not listen yet
client() { timeout "$patience" "$@" guest0 &>/tmp/said; }
pair() {
    if first; then
        timeout "$patience" "$@" &>/tmp/said
    else
        until_true client "$@"
    fi || die "$1: $(cat /tmp/said)"
}
verbs() {
    local gid
    gid=$(gid_index rxe0)
    pair ibv_rc_pingpong -d rxe0 -g "$gid" -n 100
    says '100 iters'
    barrier pingpong
    pair ib_write_bw -d rxe0 -x "$gid" -s 65536 -n 50
    says '65536 +50 '
}
tcp() {
    job tcp 2 "$weft" perf all_reduce -b 8 -e 64K -f 8 -n 2 -w 1 --set "core.net=net-shm net-socket" \
        >/tmp/said 2>&1 || die "exit code $?: $(cat /tmp/said)"
    ! first || all_right
}
sent() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts"; }
two_rails() {
    local before0 before1
    before0=$(sent rxe0) before1=$(sent rxe1)
    job "$name" 1 timeout "$patience" "$weft" perf all_reduce -n 2 -w 0 -b 1M -e 1M --set core.net=net-ib \
        --set net-ib.rails=2 >/tmp/said 2>&1 || die "exit code $?: $(cat /tmp/said)"
    ! first || all_right
    [ "$(sent rxe0)" -gt $((before0 + 100)) ] || die "rxe0 was not used"
    [ "$(sent rxe1)" -gt $((before1 + 100)) ] || die "rxe1 was not used"
}
tells() { grep -E 'rail .* is lost .* recovered in [0-9.]+ ms' /tmp/complaint; }
# rail_goes COMMAND…: the command takes a rail away in the second guest; both say so, and the job goes on
rail_goes() {
    traffic --set net-ib.rails=2 --set net-ib.devices= --set net-ib.retry="${retry:-7}"
    ! first || has_begun
    barrier "begun-$name"
    first || "$@"
    until_true tells || die "no rail was lost: $(cat /tmp/traffic /tmp/complaint)"
    tells
    ! first || goes_on
    barrier "went-on-$name"
    stop_jobs
}
rail_lost() {
    rail_goes cable_out rxe1
    first || cable_in rxe1
}
# Its queue pairs fail at once.
rail_off() {
    rail_goes port_down rxe1
    first || port_up rxe1
    until_true has_address rxe1 || die "the address did not come back"
}
# Nothing says that the rail is lost but that nobody acknowledges.
rail_silent() {
    local retry=3
    rail_goes impair rxe1 loss 100%
    first || heal rxe1
}

cases=(verbs tcp two_rails rail_lost rail_off rail_silent)
[ $# -eq 0 ] || cases=("$@")
for name in "${cases[@]}"; do
    barrier "$name"
    note "$name"
    "$name"
done
note done
