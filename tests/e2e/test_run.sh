# SPDX-License-Identifier: BSD-3-Clause
# weft run: ranks on this host and behind a remote shell, what they read and write, and how they end.
. "$(dirname "$0")/common.sh"
cd "$work" || exit 1
umask 077
run=("$weft" run)
quick=("$weft" perf all_reduce -b 64 -e 64 -n 2 -w 0)
# gone: the processes whose numbers are in pids.* have ended.
gone() {
    local pid
    for pid in $(cat "$work"/pids.*); do
        for _ in $(seq 400); do
            kill -0 "$pid" 2>/dev/null || continue 2
            sleep 0.05
        done
        die "process $pid is left"
    done
    rm -f "$work"/pids.*
}
# started N: N ranks have written their numbers.
started() {
    for _ in $(seq 400); do
        [ "$(cat "$work"/pids.* 2>/dev/null | wc -l)" -ge "$1" ] && return
        sleep 0.05
    done
    die "the ranks did not start"
}

# Ranks join, as often as they like, and know their place.
expect 0 "${run[@]}" -n 3 "${quick[@]}"
all_right 1
says out '^# Launcher: environment, unique id by id \(WEFT_UNIQUE_ID is set\)$'
expect 0 env OMPI_COMM_WORLD_RANK=7 OMPI_COMM_WORLD_SIZE=9 WEFT_RANK=3 GROUP_RANK=7 GROUP_NAME=my "${run[@]}" -np 2 -l \
    sh -c 'echo $WEFT_RANK/$WEFT_NRANKS $WEFT_LOCAL_RANK/$WEFT_LOCAL_NRANKS $RANK/$WORLD_SIZE \
        ${OMPI_COMM_WORLD_RANK-no} ${GROUP_RANK-no} $GROUP_NAME'
sort "$work/out" >"$work/sorted"
printf '[0] 0/2 0/2 0/2 no no my\n[1] 1/2 1/2 1/2 no no my\n' | cmp - "$work/sorted" || die "the places of ranks"
expect 0 "${run[@]}" -n 2 -l "$weft" info --launcher
says out '^\[1\] of host   1 of 2$'
# Ranks of this host need no shell, so the path of the program may be any.
mkdir "it's"
cp "$weft" "it's/weft"
expect 0 "./it's/weft" run -n 1 echo here
expect 1 "./it's/weft" run -n 1 --hosts far --rsh false echo here
says err "it's/weft has an apostrophe in its path, which a remote shell cannot take$"
rm -r "it's"
# They share a session, and so turns of the cores; each has a group of its own, which ends with it.
expect 0 "${run[@]}" -n 2 sh -c 'echo $(cut -d" " -f6 /proc/$$/stat) $(($(cut -d" " -f5 /proc/$$/stat) - $$))'
[ "$(grep -cx "$(cut -d' ' -f6 /proc/$$/stat) 0" out)" -eq 2 ] || die "sessions of ranks"

# A firewall lets only the ports of boot.port_range through: that of the id is one of them, whoever gives the
# range, and the listeners of the ranks leave it to rank 0. Rank 1 says where it looked for rank 0.
first=$((61000 + $$ % 4000))
lone() {
    expect 0 "${run[@]}" "$@" -k -n 2 \
        sh -c '[ $WEFT_RANK = 0 ] || WEFT_BOOT_INIT_TIMEOUT=0.3 "$0" perf barrier || :' "$weft"
    local port
    port=$(sed -n 's/.*not reached at 127\.0\.0\.1:\([0-9]*\),.*/\1/p' err | tail -n 1)
    [ "${port:-0}" -ge "$first" ] && [ "$port" -le $((first + 3)) ] || die "the id has port $port"
}
printf '[boot]\nport_range = %s-%s\n' "$first" $((first + 3)) >range.ini
WEFT_BOOT_PORT_RANGE=$first-$((first + 3)) lone
lone -x WEFT_BOOT_PORT_RANGE="$first-$((first + 3))"
WEFT_BOOT_PORT_RANGE=1-2 lone -x WEFT_BOOT_PORT_RANGE="$first-$((first + 3))"
WEFT_CONF=$work/range.ini lone
lone -x WEFT_CONF="$work/range.ini"
# Three ranks, the id, and one that rank 0 makes though it has one.
printf '[boot]\nport_range = %s-%s\n' "$first" $((first + 4)) >range.ini
for _ in 1 2 3 4 5 6; do
    expect 0 "${run[@]}" -x WEFT_CONF="$work/range.ini" -n 3 "${quick[@]}"
done
# A range that is none is told of by the ranks; programs without weft need none.
expect 0 env WEFT_BOOT_PORT_RANGE=none "${run[@]}" -n 2 true
expect 3 env WEFT_BOOT_PORT_RANGE=none "${run[@]}" -n 2 "${quick[@]}"
says err 'port_range is "none"'

# Lines stay whole, also where ranks write them in pieces.
printf '%s\n' 'for i in $(seq 300); do printf "<%s" "$WEFT_RANK"; printf "%s>\n" "$WEFT_RANK"; done; printf last' >pieces
expect 0 "${run[@]}" -n 3 sh pieces
[ "$(grep -cxE '<00>|<11>|<22>|last' out)" -eq 903 ] || die "lines mixed"
expect 0 "${run[@]}" -n 3 -l sh pieces
[ "$(grep -cxE '\[0\] <00>|\[1\] <11>|\[2\] <22>|\[[012]\] last' out)" -eq 903 ] || die "labels mixed"

# Rank 0 reads the input, the others its end. More than a pipe holds goes through.
seq 200000 >lines
"${run[@]}" -n 2 cat <lines >out 2>err || die "cat failed"
cmp lines out || die "the input did not come through"
"${run[@]}" -n 1 head -n 1 <lines >out 2>err || die "head failed"
says out '^1$'

# The rank that fails first is named, and its code is the command's.
expect 5 "${run[@]}" -n 3 sh -c 'echo $$ >pids.$WEFT_RANK; [ $WEFT_RANK = 1 ] && exit 5; exec sleep 1000'
says err '^weft run: rank 1 ended with code 5; the others are ended$'
gone
expect 137 "${run[@]}" -n 2 sh -c 'echo $$ >pids.$WEFT_RANK; [ $WEFT_RANK = 0 ] && kill -KILL $$; sleep 1000 & wait'
says err '^weft run: rank 0 ended by signal SIGKILL \(9\); the others are ended$'
gone
# One that does not want to end is killed, and what it started.
expect 3 "${run[@]}" -n 2 --grace 0.2 sh -c 'trap "" TERM; sleep 1000 & echo $! $$ | tr " " "\n" >pids.$WEFT_RANK; [ $WEFT_RANK = 0 ] && exit 3; while :; do sleep 1; done'
gone
expect 127 "${run[@]}" -n 2 no-such-program
says err 'weft run: cannot start no-such-program: No such file'
printf '#!/no/such/interpreter\n' >script
chmod +x script
expect 127 "${run[@]}" -n 2 ./script
says err 'weft run: cannot start ./script: No such file or directory \(the interpreter or loader that it names\)$'
expect 127 "${run[@]}" -n 2 --wdir /no/such/folder true
says err 'cannot go to the folder /no/such/folder'

# Others may go on; the last one says how it ended.
expect 0 "${run[@]}" --keep-going -n 2 sh -c '[ $WEFT_RANK = 0 ] && exit 5; while [ -e lines ]; do sleep 0.05; done' &
job=$!
for _ in $(seq 400); do
    grep -q '^weft run: rank 0 ended' err 2>/dev/null && break
    sleep 0.05
done
rm lines
wait $job || die "the survivor did not decide"
says err '^weft run: rank 0 ended with code 5$'

# Signals are passed on.
"${run[@]}" -n 2 sh -c 'trap "echo asked $WEFT_RANK; exit 0" TERM; echo $$ >pids.$WEFT_RANK; while :; do sleep 0.05; done' >out 2>err &
job=$!
started 2
kill -TERM $job
wait $job
[ $? -eq 143 ] || die "SIGTERM: another exit code"
says out '^asked 0$'
says out '^asked 1$'
gone
# Nothing is left when the command itself is killed.
"${run[@]}" -n 2 sh -c 'sleep 1000 & echo $$ $! | tr " " "\n" >pids.$WEFT_RANK; wait' >out 2>err &
job=$!
started 4
kill -KILL $job
wait $job 2>/dev/null
gone

# A core each, or an error.
if [ "$(nproc)" -ge 2 ] && command -v taskset >/dev/null; then
    expect 0 "${run[@]}" -n 2 --bind-to core sh -c 'taskset -cp $$'
    [ "$(sed 's/.*: //' out | sort -u | wc -l)" -eq 2 ] || die "two ranks on one core"
    # So none has to sleep soon because others may need its core.
    expect 0 "${run[@]}" -n 2 --bind-to core "${quick[@]}" --set core.log=info
    [ "$(cat out err | grep -cE 'info wait: 1 rank on [1-9][0-9]* cores?: spin 5000 steps')" -eq 2 ] ||
        die "ranks with cores of their own do not spin"
fi
# Ranks in containers have a quota each, of whichever cores: it is their own, or shared by those of one container.
mkdir one two
echo '100000 100000' | tee one/cpu.max >two/cpu.max
own_mounts=(unshare -rm)
if [ "$(nproc)" -ge 2 ] && "${own_mounts[@]}" mount --bind one /sys/fs/cgroup 2>/dev/null; then
    contained() {
        expect 0 "${run[@]}" -n 2 "${own_mounts[@]}" \
            sh -c "mount --bind $1 /sys/fs/cgroup && exec \"\$@\"" sh "${quick[@]}" --set core.log=info
        [ "$(cat out err | grep -cE "info wait: $2 ranks? on 1 core: spin")" -eq 2 ] ||
            die "ranks with quotas do not say that $2 share one core"
    }
    contained '$(if [ "$WEFT_RANK" = 0 ]; then echo one; else echo two; fi)' 1
    contained one 2
else
    echo "no mounts of its own, or one core: quotas of containers were not tried"
fi
expect 127 "${run[@]}" -n 5000 --bind-to core true
says err 'cores may be used here, which is too few'

# Other hosts: a remote shell that forgets the environment, as ssh does, and speaks first.
cat >shell <<'END'
#!/bin/sh
echo "$@" >>commands
echo "Welcome to $1"
host=$1
shift
exec env -i PATH="$PATH" HOME="$HOME" ASAN_OPTIONS="$ASAN_OPTIONS" FAR=$host sh -c "cd /; $*"
END
chmod +x shell
far=(--rsh ./shell -H "127.0.0.1:2,127.0.0.2:1")
expect 0 "${run[@]}" "${far[@]}" "${quick[@]}"
all_right 1
expect 0 env WEFT_LOG_LEVEL=warn ANIMAL=cat "${run[@]}" "${far[@]}" -x ANIMAL -x TREE="an oak" -l \
    sh -c 'echo $WEFT_RANK $WEFT_LOCAL_RANK/$WEFT_LOCAL_NRANKS $FAR $ANIMAL $TREE $WEFT_LOG_LEVEL $PWD; tr "\0" " " </proc/$PPID/cmdline >>commands; echo $WEFT_UNIQUE_ID >id'
says out "^\[1\] 1 1/2 127.0.0.1 cat an oak warn $work\$"
says out "^\[2\] 2 0/1 127.0.0.2 cat an oak warn $work\$"
says err '^Welcome to 127.0.0.1$'
! grep -qF "$(cat id)" commands || die "the id stands on a command line"
expect 4 "${run[@]}" "${far[@]}" sh -c 'echo $$ >pids.$WEFT_RANK; [ $WEFT_RANK = 2 ] && exit 4; exec sleep 1000'
says err 'weft run: rank 2 on 127.0.0.2 ended with code 4; the others are ended'
gone
expect 3 "${run[@]}" --rsh false -H far:2 true
says err 'no agent of weft could be started on far: false ended with code 1'
# A shell that says much before the agent does takes no memory.
cat >noisy <<'END'
#!/bin/sh
yes | head -c 60000000
yes | head -c 50000 | tr -d '\n'
exec ./shell "$@"
END
chmod +x noisy
limit=()
[ -n "$E2E_SANITIZE" ] || limit=(prlimit --as=40000000)
expect 0 "${limit[@]}" "${run[@]}" --rsh ./noisy -H 127.0.0.1:1 true
tail -n 1 err | grep -q 'yyWelcome to 127.0.0.1$' || die "what it said is lost"
# The connection to a host ends.
cat >cut <<'END'
#!/bin/sh
host=$1
shift
if [ "$host" = 127.0.0.2 ]; then echo $$ >cut.pid; fi
exec sh -c "$*"
END
chmod +x cut
expect 3 "${run[@]}" --rsh ./cut -H 127.0.0.1:1,127.0.0.2:1 \
    sh -c 'echo $$ >pids.$WEFT_RANK; if [ $WEFT_RANK = 1 ]; then kill -KILL $(cat cut.pid); fi; exec sleep 1000'
says err 'the connection to 127.0.0.2 ended, with 1 rank there'
gone

# Bad words.
expect 6 "${run[@]}" -n 2
says err 'which program'
expect 6 "${run[@]}" -n 0 true
expect 6 "${run[@]}" -H a:1 -n 2 true
says err '-n 2, but the hosts of -H have 1 slot;'
expect 6 "${run[@]}" -H "localhost:1, localhost:1" true
says err "-H: ' localhost' is no name of a host$"
expect 6 "${run[@]}" -H "[::1]9:2" true
says err "-H: '\[::1\]9' is no name of a host$"
expect 6 "${run[@]}" -H localhost:65536,localhost:1 true
says err 'the hosts of -H have 65537 slots, allowed are 65536$'
expect 6 "${run[@]}" -H a:x true
expect 6 "${run[@]}" --bind-to cor true
says err 'did you mean core'
expect 6 "${run[@]}" -x NO_SUCH_VARIABLE true
expect 0 env WEFT_EXEC_SLOTS=5 "${run[@]}" -n 2 --set exec.slots=3 --set 'net-shm.a_b=x = y' sh -c 'echo "$WEFT_EXEC_SLOTS, $WEFT_NET_SHM_A_B"'
[ "$(cat "$work/out")" = $'3, x = y\n3, x = y' ] || die "--set is no variable of the ranks: $(cat "$work/out")"
for setting in slots=3 exec.slots .slots=3 exec.=3 Exec.slots=3 exec=a.b; do
    expect 6 "${run[@]}" --set "$setting" true
    says err "^weft: --set wants section.key=value, got '$setting'$"
done
expect 6 "${run[@]}" --lable true
says err 'did you mean --label'

# The real thing, where there is a server to log in at.
sshd=$(command -v sshd || ls /usr/sbin/sshd 2>/dev/null)
[ -n "$sshd" ] && command -v ssh-keygen >/dev/null || { echo "no sshd: ssh itself was not tried"; exit 0; }
port=$((30000 + $$ % 20000))
ssh-keygen -q -t ed25519 -N '' -f host_key && ssh-keygen -q -t ed25519 -N '' -f key || die "ssh-keygen"
cp key.pub authorized
printf '%s\n' "Port $port" "ListenAddress 127.0.0.1" "HostKey $work/host_key" "PidFile none" \
    "AuthorizedKeysFile $work/authorized" "StrictModes no" "UsePAM no" "PermitRootLogin yes" >sshd_config
printf '%s\n' "Host *" "Port $port" "IdentityFile $work/key" "UserKnownHostsFile $work/known" \
    "StrictHostKeyChecking no" "LogLevel ERROR" >ssh_config
[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
"$sshd" -D -f "$work/sshd_config" 2>sshd.log &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
ssh=(ssh -F "$work/ssh_config" -o BatchMode=yes)
for _ in $(seq 100); do
    "${ssh[@]}" 127.0.0.1 true 2>ssh.log && break
    kill -0 $server 2>/dev/null || break
    sleep 0.1
done
"${ssh[@]}" 127.0.0.1 true 2>ssh.log || { echo "no login at a server of its own: ssh itself was not tried"; exit 0; }
expect 0 "${run[@]}" --rsh "${ssh[*]}" -H localhost:1,127.0.0.1:2 -x ASAN_OPTIONS -l sh -c 'echo "$WEFT_RANK of $WEFT_NRANKS"'
says out '^\[2\] 2 of 3$'
expect 0 "${run[@]}" --rsh "${ssh[*]}" -H 127.0.0.1:2 -x ASAN_OPTIONS "${quick[@]}"
all_right 1
"${run[@]}" --rsh "${ssh[*]}" -H 127.0.0.1:2 sh -c 'echo $$ >pids.$WEFT_RANK; exec sleep 1000' >out 2>err &
job=$!
started 2
kill -KILL $job
wait $job 2>/dev/null
gone
echo "ssh itself was tried"
