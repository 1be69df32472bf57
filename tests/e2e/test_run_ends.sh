# SPDX-License-Identifier: BSD-3-Clause
# How a job ends: what `weft` does with the signals that whoever started it ignored, with output that nobody
# takes, and with what the ranks leave behind.
. "$(dirname "$0")/common.sh"
cd "$work" || exit 1
run=("$weft" run)
# waits WHAT COMMAND…: until the command succeeds.
waits() {
    local what=$1
    shift
    for _ in $(seq 400); do
        "$@" && return
        sleep 0.05
    done
    die "$what"
}

# A caller that ignores SIGCHLD hides no end of a process.
seconds=15
deaf=(env --ignore-signal=CHLD)
expect 3 "${deaf[@]}" "$weft" perf all_reduce -P 2 -b 8 -e 8 -n 2 --set core.flight=/no/such/folder
expect 0 "${deaf[@]}" "${run[@]}" -n 2 true
expect 5 "${deaf[@]}" "${run[@]}" -n 2 sh -c 'exit 5'
seconds=60

# Where no process can be started, the limits are named. Only root can become somebody who has a limit of one.
one=(setpriv --reuid 65534 --clear-groups --no-new-privs prlimit --nproc=1)
if [ "$(id -u)" -eq 0 ] && "${one[@]}" "$weft" version >/dev/null 2>&1; then
    expect 1 "${one[@]}" "$weft" perf all_reduce -P 2
    says err '^weft: cannot fork process 0: Resource temporarily unavailable \(see ulimit -u, and pids.max of'
    expect 1 "${one[@]}" "${run[@]}" -n 2 true
    says err '^weft run: cannot start an agent: Resource temporarily unavailable \(see ulimit -u, and'
    # Those that were started before end without a word.
    one[${#one[@]} - 1]=--nproc=2
    expect 1 "${one[@]}" "$weft" perf all_reduce -P 4
    ! grep -E 'did not end|was killed' err || die "more than the cause"
else
    echo "no other user: the limit of processes was not tried"
fi

# A grace of no seconds is none.
seconds=15
expect 3 "${run[@]}" --grace 0 -n 2 sh -c 'trap "" TERM; [ $WEFT_RANK = 0 ] && exit 3; sleep 100'
says err '^weft run: rank 0 ended with code 3; the others are ended$'
seconds=60

# What the caller ignores stays ignored, as with nohup and jobs in the background; the ranks have the defaults.
for signal in HUP INT; do
    rm -f begun go
    env --ignore-signal=$signal "${run[@]}" -n 2 \
        sh -c ': >begun; while [ ! -e go ]; do sleep 0.05; done; grep SigIgn: /proc/self/status' >out 2>err &
    job=$!
    waits "the ranks did not start" test -e begun
    kill -$signal $job "$(pgrep -P $job)"
    sleep 0.3
    : >go
    wait $job || die "$signal was ignored and ended the job"
    [ "$(grep -c '^SigIgn:.*0[0-9a-f]$' out)" -eq 2 ] || die "signals that ranks ignore"
done
