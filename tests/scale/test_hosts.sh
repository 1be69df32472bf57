# SPDX-License-Identifier: BSD-3-Clause
# 256 processes on 8 hosts, which are network namespaces: TCP between them, shared memory within.
. "$(dirname "$0")/../e2e/common.sh"
. "$(dirname "$0")/hosts.sh"
ranks=256 some=64 hosts=8
[ -z "${E2E_SANITIZE:-}" ] || ranks=16 some=16
prefix=wt$$h
trap 'hosts_down $prefix $hosts; rm -rf "$work"' EXIT
hosts_up $prefix $hosts 2>"$work/err" || skip "no network namespaces here: $(tail -n 1 "$work/err")"

expect 0 "$build/bin/scale_job" -n $ranks -H $hosts -N $prefix -k $((ranks / 3)) \
    "core.net=net-shm net-socket"
says out "\"ranks\":$ranks,\"hosts\":$hosts,.*\"wrong\":0"
# Half a second on a quiet machine.
says out '"named":[0-4]\.'
expect 0 "$build/bin/scale_job" -n $some -H $hosts -N $prefix -- \
    "$weft" perf all -b 1K -e 1K -n 1 -w 0 --set "core.net=net-shm net-socket"
says out '^# Out of bounds values : 0 OK$'
# A connection of which little is used takes little: 56 of them are no hundreds of MiB. Sanitizers take more.
[ -n "${E2E_SANITIZE:-}" ] || says out '"resident_max":[1-5]?[0-9]{7},'
! grep -q SKIPPED "$work/out" || die "a collective was left out"
