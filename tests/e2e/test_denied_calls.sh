# SPDX-License-Identifier: BSD-3-Clause
# Where a filter of the container denies a system call, the error names the call and not a limit.
. "$(dirname "$0")/common.sh"
[ -z "${E2E_SANITIZE:-}" ] || skip "sanitizers make these calls themselves"

expect 0 cc -o "$work/deny" "$source_dir/tests/e2e/deny.c"
"$work/deny" fallocate 1 true || skip "this system has no filters of calls"
job=("$weft" run -n 2 "$weft" perf all_reduce -c 1 -b 8 -e 1M -f 128 -n 2 --set core.net=net-shm)

# denied CALL STATUS TEXT: the job fails so with EPERM and with ENOSYS.
denied() {
    local number cause=([1]="Operation not permitted" [38]="Function not implemented")
    for number in 1 38; do
        expect "$2" "$work/deny" "$1" "$number" "${job[@]}"
        says err "$3.*: ${cause[$number]}"
    done
}
# denied_says_not CALL STATUS TEXT WORDS: and not with these words.
denied_says_not() {
    denied "$1" "$2" "$3"
    ! grep -q -- "$4" "$work/err" || die "$4 where $1 is denied"
}
expect 1 "$work/deny" poll 1 "$weft" perf all_reduce -P 2 -b 8 -e 8 -n 1
says err '^weft: cannot wait for the ranks [(]poll[)]: Operation not permitted$'
denied_says_not signalfd4 1 'weft run: cannot read signals as a file [(]signalfd[)]' 'memory'
denied_says_not eventfd2 127 'cannot make an event descriptor [(]eventfd[)]' 'open files'
denied_says_not prctl 127 'cannot end with its parent [(]prctl PR_SET_PDEATHSIG[)]' 'has gone'
# There is no shared memory then. Alone that is an error, else another transport serves.
for call in memfd_create fallocate fcntl; do
    expect 3 "$work/deny" "$call" 1 "${job[@]}"
    says err "net-shm: no device: the system refuses $call.*(Operation not permitted)"
    says err 'no transport from rank 0 to rank 1; tried: net-shm'
    expect 0 "$work/deny" "$call" 38 "${job[@]}" --set core.net="net-shm net-socket"
    says out '^# Out of bounds values : 0 OK$'
done
# A service of systemd with RestrictAddressFamilies finds its IPv4 addresses.
expect 0 "$work/deny" netlink 97 "${job[@]}" --set core.net=net-socket
says out '^# Out of bounds values : 0 OK$'
# The way of old kernels.
expect 0 "$work/deny" madvise 1 "${job[@]}"
says out '^# Out of bounds values : 0 OK$'
# Nobody gets in. Who connects hears nothing of it, so the one that listens says it.
job+=(--set boot.init_timeout=2s)
denied accept4 4 'cannot accept a connection [(]accept4[)]'
