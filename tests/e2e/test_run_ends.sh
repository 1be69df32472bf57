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
# ended PID: the process is over.
ended() { ! kill -0 "$1" 2>/dev/null; }
# finish WHAT: waits for the job, which is over soon, and returns its code.
finish() {
    waits "$1: the job goes on" ended $job
    wait $job
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

# The rank that was killed is the cause, also where another is seen to end before it, and the code is its.
dies() { # CODE HOW: rank 1 does that when the end of rank 0 was seen; CODE is that of the job
    rm -f first
    expect "$1" "${run[@]}" -n 2 sh -c 'if [ $WEFT_RANK = 0 ]; then echo $$ >new; mv new first; exit 3; fi
        until [ -e first ] && ! kill -0 $(cat first) 2>/dev/null; do sleep 0.01; done; '"$2"
    says err '^weft run: rank 0 ended with code 3; the others are ended$'
}
dies 137 'kill -KILL $$'
[ "$(tail -n 1 err)" = "weft run: the cause is probably rank 1, which ended by signal SIGKILL (9)" ] ||
    die "the rank that was killed is not the cause"
dies 3 'kill -ABRT $$'
! grep 'the cause' err || die "a rank that aborts is taken for the cause"
expect 137 "${run[@]}" -n 2 sh -c '[ $WEFT_RANK = 1 ] && kill -KILL $$; exec sleep 50'
! grep 'the cause' err || die "the first is named twice"
# One that is stopped is named at once, and as the cause if the others fail while it is. Rank 0 sees it stop.
stops() { # COMMANDS: rank 0 runs them then
    rm -f second
    expect 3 "${run[@]}" -n 2 sh -c 'if [ $WEFT_RANK = 1 ]; then echo $$ >new; mv new second; kill -STOP $$; exec sleep 50; fi
        until [ -e second ] && grep -q "^State:.*T" "/proc/$(cat second)/status"; do sleep 0.01; done; '"$1"'; exit 3'
    says err '^weft run: rank 1 was stopped by signal SIGSTOP \(19\)$'
}
stops :
says err '^weft run: the cause is probably rank 1, which was stopped by signal SIGSTOP \(19\)$'
stops 'kill -CONT $(cat second); sleep 0.2'
says err '^weft run: rank 1 goes on$'
! grep 'the cause' err || die "a rank that went on is the cause"

# Ctrl-Z stops the ranks, too, which are in groups of their own, and they go on with the job. A group that no
# shell could continue does not stop, so it has one as in a shell.
are() {
    local state=$1 pid
    shift
    for pid; do
        [[ $(sed 's/.*) //' "/proc/$pid/stat") == [$state]* ]] || return
    done
}
set -m
"${run[@]}" -n 2 sh -c 'echo $$ >"pid.$WEFT_RANK.new"; mv "pid.$WEFT_RANK.new" "pid.$WEFT_RANK"; exec sleep 50' 2>err &
job=$!
set +m
waits "the ranks did not start" test -e pid.0 -a -e pid.1
ranks=("$(cat pid.0)" "$(cat pid.1)")
kill -TSTP $job
waits "the job does not stop" are T $job "${ranks[@]}"
kill -CONT $job
waits "the job does not go on" are SR $job "${ranks[@]}"
kill -TERM $job
finish "stopped and continued"
[ $? -eq 143 ] || die "not ended by SIGTERM"
[ ! -s err ] || die "a pause that was asked for is told"

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
    finish "SIG$signal" || die "$signal was ignored and ended the job"
    [ "$(grep -c '^SigIgn:.*0[0-9a-f]$' out)" -eq 2 ] || die "signals that ranks ignore"
done

# While nobody takes the output, ranks are held back, and signals and deaths are heard all the same.
mkfifo full
exec 9<>full
hold() { # PROGRAM…: a job of two ranks whose output is a pipe that nobody reads
    rm -f pids.*
    "${run[@]}" -n 2 --grace "$grace" "$@" >full 2>err 9>&- &
    job=$!
    waits "the ranks did not start" test -s pids.1
    sleep 0.7
}
flood='echo $$ >pids.$WEFT_RANK; exec yes'
grace=1
hold sh -c "$flood"
kill -0 $job || die "the job did not wait for its output"
[ "$(awk '/^VmRSS/ { print $2 }' /proc/$job/status)" -lt 40000 ] || die "the ranks were not held back"
kill -TERM $job
finish "SIGTERM was not heard"
[ $? -eq 143 ] || die "SIGTERM: another exit code"
waits "a rank is left" ended "$(cat pids.0)"
grace=60
hold sh -c 'trap "" TERM; '"$flood"
kill -TERM $job
sleep 0.2
kill -TERM $job
waits "a second signal did not end the job at once" ended $job
hold sh -c "if [ \$WEFT_RANK = 0 ]; then $flood; fi; echo \$\$ >pids.1; sleep 0.5; exit 5"
waits "a death was not heard" grep -q '^weft run: rank 1 ended with code 5; the others are ended$' err
waits "the others were not ended" ended "$(cat pids.0)"
kill -0 $job || die "the job did not wait for its output"
timeout 10 cat <full >/dev/null &
reader=$!
finish "the output is taken again"
[ $? -eq 5 ] || die "the code of the rank that failed is lost"
kill $reader
# All that is written comes through a pipe that is slow.
timeout 20 "${run[@]}" -n 2 seq 100000 | { sleep 0.5; wc -l; } >out
grep -qx 200000 out || die "output is lost in a slow pipe"
exec 9>&-

# Output that cannot be written is an error, and no job goes on for nothing.
if [ -w /dev/full ]; then
    lost='^weft run: cannot write to standard output: No space left on device'
    expect 1 bash -c '"$@" >/dev/full' - "${run[@]}" -n 2 printf 'last result 42'
    says err "$lost"
    expect 1 bash -c '"$@" >/dev/full' - "${run[@]}" -n 1 sh -c 'echo much; exec sleep 50'
    says err "$lost; the ranks are ended$"
    expect 5 bash -c '"$@" >/dev/full' - "${run[@]}" -n 1 sh -c 'printf much >&2; exit 5'
fi
expect 141 bash -c '"$@" | head -n 1; exit ${PIPESTATUS[0]}' - "${run[@]}" -n 2 yes
[ "$(wc -l <out) $(wc -c <err)" = "1 0" ] || die "a reader that ends is spoken of"

# Ranks start in this folder or not at all.
mkdir lost
expect 6 bash -c 'cd lost && rmdir ../lost && exec "$@"' - "${run[@]}" -n 1 pwd
says err "^weft: cannot tell the path of this folder \(No such file or directory\), --wdir FOLDER .*: $work/lost \(deleted\)$"
deep='for i in $(seq 25); do mkdir $0 && cd -P $0 || exit 1; done; cd .; exec "$@"'
expect 6 bash -c "$deep" "$(printf 'd%.0s' $(seq 200))" "${run[@]}" -n 1 pwd
says err "^weft: cannot tell the path of this folder \(File name too long\), --wdir FOLDER .*: $work/dddd"
expect 0 bash -c "$deep" "$(printf 'e%.0s' $(seq 200))" "${run[@]}" -n 1 --wdir / pwd
says out '^/$'

# What ranks have started ends with them, also when their agent is killed, or stopped and then killed.
for signal in KILL STOP; do
    rm -f pids.*
    "${run[@]}" -n 2 --grace 0.2 sh -c 'sleep 1000 & echo $! $$ | tr " " "\n" >pids.$WEFT_RANK; wait' >out 2>err &
    job=$!
    waits "the ranks did not start" test -s pids.0 -a -s pids.1
    kill -$signal "$(pgrep -P $job)"
    [ $signal = KILL ] || kill -TERM $job
    finish "SIG$signal to the agent"
    for pid in $(cat pids.*); do
        waits "process $pid is left after SIG$signal" ended "$pid"
    done
done

# A host may have a name of 64 characters, and others longer ones.
long=$(printf 'h%.0s' $(seq 64))
named() { unshare -u sh -c 'echo "$0" >/proc/sys/kernel/hostname && exec "$@"' "$long" "$@"; }
if named true 2>/dev/null; then
    export -f named
    export long
    expect 0 bash -c 'named "$@"' - "${run[@]}" --rsh false -H "$long:2" true
    expect 0 bash -c 'named "$@"' - "${run[@]}" -n 2 "$weft" perf all_reduce -b 8 -e 8 -n 1
else
    echo "no name of its own: a long one of this host was not tried"
fi
expect 3 "${run[@]}" --rsh false -H "$long.$long.$long" true
says err "could be started on $long.$long.$long: false ended with code 1"
