# SPDX-License-Identifier: BSD-3-Clause
# A rank that is stopped is found by `weft status` and `weft trace` while the job hangs; when it is
# killed the files that [core] flight leaves say so. A job that ends well leaves none.
. "$(dirname "$0")/common.sh"
command -v jq >/dev/null || skip "no jq"
records=$work/records
mkdir "$records"

# start SETTING…: four ranks that call all-reduces for ever. One that is stopped stays a member, however long this
# takes. Leaves $job, and the ranks' pids in `pid`.
start() {
    "$weft" perf all_reduce -P 4 -b 8K -e 8K -n 100000000 -c 0 --set boot.unresponsive=1000s "$@" >"$work/job" 2>&1 &
    job=$!
    for ((i = 0; i < 300; i++)); do
        # Other jobs may run here.
        mapfile -t pid < <("$weft" status --json 2>/dev/null |
            jq -r 'sort_by(.rank) | .[] | select(.nranks == 4 and .operation > 10) | .pid' |
            while read -r one; do
                read -r -a stat <"/proc/$one/stat" && [ "${stat[3]}" -eq $job ] && echo "$one"
            done 2>/dev/null)
        [ "${#pid[@]}" -ne 4 ] || return 0
        sleep 0.1
    done
    kill -9 $job
    die "no four ranks in weft status after 30 s"
}
stop() {
    kill -9 "${pid[@]}" $job 2>/dev/null
    wait $job 2>/dev/null
}
# until_says COMMAND PATTERN: within 30 s.
until_says() {
    for ((i = 0; i < 150; i++)); do
        eval "$1" >"$work/out" 2>"$work/err" && grep -qE -- "$2" "$work/out" && return 0
        sleep 0.2
    done
    stop
    die "no /$2/ in what '$1' prints"
}
# status_beside SCRIPT ARGUMENT…: what `weft status` says while that Python program runs, in $work/json, and the
# line that the program prints when it is ready, in $ready. It runs until its input ends.
mkfifo "$work/end" "$work/held"
status_beside() {
    python3 "$@" <"$work/end" >"$work/held" &
    local beside=$!
    exec {end}>"$work/end"
    read -r ready <"$work/held"
    "$weft" status --json >"$work/json" || { stop; die "no JSON"; }
    exec {end}>&-
    wait $beside # the next one's line would be looked for in what this one still holds open
}
# status_says PID FILTER WHAT: of $pid in $work/json; else it is not WHAT.
status_says() {
    jq -e --argjson pid "$1" "$2" "$work/json" >/dev/null || { stop; die "not $3 in $(cat "$work/json")"; }
}

# A rank that never comes is named, while the others wait for it and afterwards.
mkdir "$work/joins"
"$weft" run -n 5 --set core.flight="$work/joins" --set boot.init_timeout=5s sh -c \
    '[ $WEFT_RANK = 3 ] || exec "$0" perf all_reduce -c 0 -b 8 -e 8' "$weft" >/dev/null 2>&1 &
pid=() job=$!
until_says "'$weft' trace '$work/joins'" '^rank 4 of 5, .*: is joining'
until_says "'$weft' trace '$work/joins'" '^no record of a rank that joins: 3 of 5; on another host, or not started$'
wait $job && die "a rank was missing, and the job did not fail"
[ "$(ls "$work/joins" | wc -l)" -eq 4 ] || die "no four records"
expect 0 "$weft" trace "$work/joins"
says out '^rank 4 of 5, .*: ended before it had joined'
says out '^no record of a rank that joins: 3 of 5; on another host, or not started$'

# In memory.
start
kill -STOP "${pid[2]}"
# All three wait for rank 2, or for one that waits for it.
until_says "'$weft' status" "^ +[013] +[0-9]+  inside .*all_reduce of 2048 float .* s  rank [0-9]"
until_says "'$weft' trace ${pid[*]}" "open on ranks"
says out "communicator world \([0-9a-f]{16}\) of 4 ranks"
says out "^  rank 2 \(process ${pid[2]} on [^ ]+\) is stopped: by a signal, or in a debugger"
expect 0 "$weft" status
says out "^ +2 +${pid[2]} .* - \(stopped by a signal, or in a debugger\)"
"$weft" status --json | jq -e --argjson pid "${pid[2]}" '[.[] | select(.stopped) | .pid] | contains([$pid])' >/dev/null ||
    { stop; die "process ${pid[2]} is not stopped in JSON"; }
expect 0 "$weft" trace "${pid[@]}" --json "$work/trace.json" --svg "$work/trace.svg"
jq -e '[.traceEvents[] | select(.ph == "X")] | length > 0' "$work/trace.json" >/dev/null ||
    die "no events in the trace"
grep -q '<svg' "$work/trace.svg" || die "no picture"

# A forked process has the record of its rank, often: the rank is there once, and ends with its own process. Others
# can write what they like into one, which no terminal obeys.
find "/proc/${pid[0]}/fd" -lname '/memfd:weft-flight*' -exec cat {} \; | head -c 100000000 >"$work/record"
cat >"$work/hold.py" <<'HOLD'
import os, sys
record = open(sys.argv[1], 'rb').read().replace(b'world\0\0\0\0\0\0\0', b'w\x1b[2J\n\xff\xc3\xa9\0\0\0', 1)
held = os.memfd_create('weft-flight')
os.write(held, record)
for _ in range(300):
    os.dup(held)
print('held', flush=True)
sys.stdin.read()
HOLD
status_beside "$work/hold.py" "$work/record"
status_says "${pid[0]}" '[.[] | select(.state == "ended" and .pid == $pid)] | length == 1 and .[0].name == "w?[2J ?é"' \
    "one rank that ended"

# A first thread that ends leaves the process to the others.
cat >"$work/headless.py" <<'HEADLESS'
import ctypes, os, struct, sys, threading, time
record, rank = open(sys.argv[1], 'rb').read(), struct.pack('i', int(sys.argv[2]))
held = os.memfd_create('weft-flight')
os.write(held, record.replace(rank, struct.pack('i', os.getpid()), 1))
def rest():
    while 'State:\tZ' not in open('/proc/self/status').read():
        time.sleep(0.01)
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=rest).start()
ctypes.CDLL(None).pthread_exit(None)
HEADLESS
status_beside "$work/headless.py" "$work/record" "${pid[0]}"
status_says "$ready" '[.[] | select(.pid == $pid and .state != "ended")] | length > 0' "process $ready, whose first thread has ended"

# The user of a rank is that of its own process, also where another one that has the record is found first.
if [ "$(id -u)" -eq 0 ]; then
    cat >"$work/drop.py" <<'DROP'
import os, struct, sys
record, rank = open(sys.argv[1], 'rb').read(), struct.pack('i', int(sys.argv[2]))
held = os.memfd_create('weft-flight')
child = os.fork()
if child:
    os.write(held, record.replace(rank, struct.pack('i', child), 1))
    os.setuid(65534)
    print(child, flush=True)
sys.stdin.read()
DROP
    status_beside "$work/drop.py" "$work/record" "${pid[0]}"
    status_says "$ready" '[.[] | select(.pid == $pid) | .uid] == [0]' "process $ready as one rank of root"
    # A user without rights hears that there is something, also where /proc hides it.
    cat >"$work/nobody.py" <<'NOBODY'
import os, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
os.execv(sys.argv[1], sys.argv[1:])
NOBODY
    expect 6 python3 "$work/nobody.py" "$weft" trace "${pid[0]}"
    says err "process ${pid[0]}: belongs to another user, whose processes root may look at"
    expect 0 python3 "$work/nobody.py" "$weft" status
    says err "that may be looked at; those of other users are shown to root only"
else
    echo "skipped: a process of another user has the record of a rank: only root can make one"
fi
stop

# The ranks of a container are known here by other numbers.
if unshare -p --fork --mount-proc true 2>/dev/null; then
    unshare -p --fork --kill-child --mount-proc "$weft" perf all_reduce -P 2 -b 8K -e 8K -n 100000000 -c 0 >"$work/job" 2>&1 &
    job=$!
    for ((i = 0; i < 300; i++)); do
        # Ranks are children of the one process that unshare has started.
        mapfile -t pid < <("$weft" status --json | jq -r '.[] | select(.nranks == 2) | .pid' |
            while read -r one; do
                read -r -a stat <"/proc/$one/stat" && [ "${stat[3]}" = "$(cat "/proc/$job/task/$job/children" | tr -d ' ')" ] &&
                    echo "$one"
            done 2>/dev/null)
        [ "${#pid[@]}" -ne 2 ] || break
        sleep 0.1
    done
    [ "${#pid[@]}" -eq 2 ] || { stop; die "the ranks of the container are not in weft status"; }
    expect 0 "$weft" trace "${pid[@]}"
    ! grep -q 'ended without leaving' "$work/out" || die "ranks that run have ended"
    stop
else
    echo "skipped: no namespace of processes can be made here"
fi

# Where no process can be seen, nobody is told that none runs.
if [ -n "${E2E_SANITIZE:-}" ]; then
    echo "skipped: a system without /proc: sanitizers need it, and read their options there"
elif unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016
    unseen=(unshare -m bash -c 'mount -t tmpfs none /proc && exec "$@"' -)
    expect 6 "${unseen[@]}" "$weft" status --json
    says err "^weft: cannot see which processes run: /proc shows no processes: it is not mounted here"
    [ ! -s "$work/out" ] || die "a list where no process can be seen"
    expect 6 "${unseen[@]}" "$weft" trace
    says err "^weft: cannot see which processes run: /proc shows no processes"
    expect 6 "${unseen[@]}" "$weft" trace $$
    says err "^weft: process $$: /proc shows no processes"
else
    echo "skipped: a system without /proc: no namespace of mounts can be made here"
fi

# In files, which outlive the process.
start --set core.flight="$records"
kill -STOP "${pid[2]}"
until_says "'$weft' trace '$records'" "^  rank 2 \(process ${pid[2]} on [^ ]+\) is stopped: by a signal, or in a debugger"
# A process that nobody has waited for yet has ended all the same.
kill -STOP $job
kill -9 "${pid[2]}"
until_says "'$weft' trace '$records'" "^  rank 2 \(process ${pid[2]} on [^ ]+\) ended without leaving: killed, crashed, or without weft_comm_destroy\(\)"
kill -CONT $job
wait $job && die "a job with a rank killed ended well"
[ "$(find "$records" -name '*.flight' | wc -l)" -eq 4 ] || die "not four files in $(ls "$records")"
expect 0 "$weft" trace "$records"
says out "rank 2 \(process ${pid[2]} on [^ ]+\) ended without leaving: killed, crashed, or without"
says out "failed on 3 of them, first on rank [013]: ERR_PEER_DEAD: rank 2 of host"
says out "last operation: [0-9]+, all_reduce of 2048 float"
file=$(find "$records" -name '*rank0.flight')
expect 0 "$weft" trace "$file"
says out "no record of ranks 1, 2, 3"

# Damaged ones, none, and words that mean nothing.
head -c 5000 "$file" >"$work/short.flight"
expect 6 "$weft" trace "$work/short.flight"
says err "short.flight: is the flight record of another version of weft, or a part of one"
expect 6 "$weft" trace "$work"/nothing
says err "nothing: No such file"
mkdir "$work/empty"
expect 6 "$weft" trace "$work/empty"
says err "no \*.flight in the folder"
mkdir -p "$work/odd/folder.flight"
cp "$work/short.flight" "$work/odd"
expect 6 "$weft" trace "$work/odd"
says err "odd/folder.flight: Is a directory"
says err "odd/short.flight: is the flight record of another version of weft, or a part of one"
[ "$(wc -l <"$work/err")" -eq 2 ] || die "more than a line for each file"
if [ -w /dev/full ]; then
    expect 3 bash -c '"$@" >/dev/full' - "$weft" trace "$file" --json -
    says err "^weft: cannot write to standard output: No space left on device"
fi
expect 6 "$weft" trace $$
says err "process $$: has no flight record"
expect 6 "$weft" status here
expect 3 "$weft" trace "$file" --svg "$work/no/such/folder/a.svg"
says err "cannot write .*a.svg: No such file"

# A job that ends well.
rm -f "$records"/*
expect 0 "$weft" perf barrier -P 2 -n 5 --set core.flight="$records"
[ -z "$(ls "$records")" ] || die "left behind: $(ls "$records")"
expect 3 "$weft" perf barrier -P 2 -n 5 --set core.flight="$work/no/folder"
says err "[[]core[]] flight: cannot make a file in the folder '$work/no/folder'"

# What is no process and no record.
for number in 0 99999999999999999999; do
    expect 6 "$weft" trace $number
    says err "^weft: process $number: there is no such process$"
done
mkfifo "$work/fifo"
for name in "$work/fifo" /dev/zero; do
    expect 6 "$weft" trace "$name"
    says err "^weft: $name: no plain file$"
done
