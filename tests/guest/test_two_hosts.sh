#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two guests on a private link are two hosts: verbs between them work, and a job of four ranks, two
# on each, runs over TCP.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! in_guest; then
    guest --guests 2 --timeout 240
    exit 0
fi

server() { timeout 20 "$@" >/tmp/said 2>&1 || die "$(cat /tmp/said)"; }
# client COMMAND…: the server may not listen yet
client() {
    local try
    for try in 1 2 3 4 5 6 7 8 9 10; do
        timeout 20 "$@" guest0 >/tmp/said 2>&1 && return 0
        sleep 0.3
    done
    die "after $try tries: $(cat /tmp/said)"
}
gid=$(gid_index rxe0)
[ "$GUEST" -eq 0 ] && role=server || role=client
barrier up
note ibv_rc_pingpong
"$role" ibv_rc_pingpong -d rxe0 -g "$gid" -n 100
says '100 iters'
note ib_write_bw
"$role" ib_write_bw -d rxe0 -x "$gid" -s 65536 -n 50
says '65536 +50 '

note "weft perf over TCP, two ranks on each host"
job tcp 2 "$weft" perf all_reduce -b 8 -e 64K -f 8 -n 2 -w 1 --set "core.net=net-shm net-socket" \
    >/tmp/said 2>&1 || die "weft perf: $(cat /tmp/said)"
if [ "$GUEST" -eq 0 ]; then
    all_right
    cat /tmp/said
fi
