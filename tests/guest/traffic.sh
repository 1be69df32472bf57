# SPDX-License-Identifier: BSD-3-Clause
# Sourced in the guest: a job of `weft perf` that never ends, to make faults under. `start` is what
# starts it, in the background, with its table in /tmp/traffic and its errors in /tmp/complaint; it
# runs on the adapter `adapter`, rxe0 if that is not set.

rows() { grep -c '^ *65536 ' /tmp/traffic; }
more_rows() { [ "$(rows)" -ge "$1" ]; }
# traffic [settings]
traffic() {
    : >/tmp/traffic
    start perf all_reduce -b 64K -e 64K -n 2 -w 0 -N 0 --set core.net=net-ib \
        --set net-ib.devices="=${adapter:-rxe0}" "$@" >/tmp/traffic 2>/tmp/complaint &
    traffic=$!
}
has_begun() { until_true more_rows 3 || die "no traffic: $(cat /tmp/traffic /tmp/complaint)"; }
# goes_on: the traffic does, without a wrong element
goes_on() {
    until_true more_rows $(($(rows) + 3)) || die "the traffic stands: $(cat /tmp/complaint)"
    ! awk 'NF == 13 && $1 == 65536 && ($9 != 0 || $13 != 0) { bad = 1 } END { exit !bad }' \
        /tmp/traffic || die "wrong elements: $(cat /tmp/traffic)"
}
ended() { ! kill -0 "$traffic" 2>/dev/null; }
# fails PATTERN: the traffic ends, long before op_timeout (600 s), with code 3, and says that
fails() {
    local code=0
    until_true ended || die "the job still runs after $patience s: $(cat /tmp/complaint)"
    wait "$traffic" || code=$?
    cat /tmp/complaint
    [ "$code" -eq 3 ] || die "exit code $code, expected 3"
    grep -qE -- "$1" /tmp/complaint || die "nothing said /$1/"
}
stop_traffic() {
    kill "$traffic"
    wait "$traffic" 2>/dev/null
}
# The ranks of a job on two guests end together: by the signal, or by the other's farewell.
stop_jobs() {
    pkill -x weft
    wait "$traffic" 2>/dev/null
}
# a case of its own: rank 1 dies, and rank 0 says so
peer_killed() {
    local victim
    traffic
    has_begun
    victim=$(sed -n 's/^#  Rank  1 Group  0 Pid *\([0-9]*\) .*/\1/p' /tmp/traffic)
    kill -9 "$victim" || die "cannot kill rank 1"
    fails 'rank 1'
}
