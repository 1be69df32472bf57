#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `weft nccl-run`: the program finds weft's library, even if it asks for another one; its exit code comes
# back, and refused calls are named. Every command of docs/nccl.md that needs no outside program.
. "$(dirname "$0")/../../e2e/common.sh"
library=$build/lib/weft/nccl/libnccl.so.2

expect 0 "$weft" nccl-run --help
says out 'LD_PRELOAD'
expect 6 "$weft" nccl-run
says err 'which command'
[ -z "${E2E_SANITIZE:-}" ] || skip "a sanitized library cannot be loaded into programs that are not"
expect 127 "$weft" nccl-run no-such-program
says err 'cannot start no-such-program'
expect 3 "$weft" nccl-run -- sh -c 'exit 3'
expect 143 "$weft" nccl-run sh -c 'kill -TERM $$'
expect 0 env LD_LIBRARY_PATH=/before LD_PRELOAD= "$weft" nccl-run sh -c 'echo $LD_PRELOAD $LD_LIBRARY_PATH $VLLM_NCCL_SO_PATH'
says out "^$library $(dirname "$library"):/before $library$"

# Programs that it cannot help: said, and run all the same.
says err '^weft: no call reached weft.s libnccl.so.2'
mkdir "$work/plain"
echo 'plain text' >"$work/plain/text"
expect 127 "$weft" nccl-run "$work/plain/text"
says err 'Permission denied'
expect 127 "$weft" nccl-run "$work/plain"
says err 'cannot start'
expect 0 env LD_PRELOAD="/no/such/libnccl.so.2" "$weft" nccl-run sh -c 'echo $LD_PRELOAD'
says err 'LD_PRELOAD has another NCCL, which is left out: /no/such/libnccl.so.2'
says out "^$library$"
expect 4 env TMPDIR=/no/such/folder "$weft" nccl-run sh -c 'exit 4'
says err 'cannot make /no/such/folder/.*refused calls are not named'

# Signals reach the program, and nothing is left behind.
mkdir "$work/reports"
for signal in TERM INT HUP KILL; do
    # A shell starts what is in the background with SIGINT ignored.
    TMPDIR=$work/reports env --default-signal=INT "$weft" nccl-run sh -c "trap 'echo \$\$ >$work/ended; exit 3' TERM INT HUP
        echo \$\$ >$work/began; while :; do sleep 0.1; done" 2>"$work/err" &
    runner=$!
    for ((i = 0; i < 100; i++)); do [ -s "$work/began" ] && break; sleep 0.1; done
    kill -$signal $runner
    code=0
    wait $runner || code=$?
    for ((i = 0; i < 100; i++)); do [ -s "$work/ended" ] && break; sleep 0.1; done
    cmp -s "$work/began" "$work/ended" || die "SIG$signal did not reach the program"
    [ $signal = KILL ] || [ $code -eq 3 ] || die "SIG$signal: exit code $code"
    [ $signal = KILL ] || [ -z "$(ls "$work/reports")" ] || die "SIG$signal: $(ls "$work/reports") is left"
    rm -f "$work/began" "$work/ended" "$work/reports"/*
done
# The program hears a signal once: one that `weft nccl-run` got alone, and one that was sent to the process group, as
# launchers do. Two of a kind that are not heard yet are one to the system, so it is tried often.
cat >"$work/hears.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile sig_atomic_t heard;
static void hear(int number) { heard += number == SIGINT ? 1 : 10; }
int main(int argc, char **argv)
{
    const struct timespec nap = {0, 10000000};
    signal(SIGINT, hear);
    signal(SIGUSR1, hear);
    for (int turn = 0; argc == 2 && turn < atoi(argv[1]); turn++) {
        printf("ready %d\n", turn);
        fflush(stdout);
        for (int i = 0, before = heard; i < 6000 && heard == before; i++) nanosleep(&nap, 0);
        for (int i = 0; i < 50; i++) nanosleep(&nap, 0); /* another one would come now */
    }
    return heard;
}
END
expect 0 cc "$work/hears.c" -o "$work/hears"
# The process beside the program that tells `weft nccl-run` whether the group was signalled. There is another one after
# each signal, and until then the next signal would be taken for one to `weft nccl-run` alone.
witness_of() {
    local child
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        [ "$(readlink "/proc/$child/exe" 2>/dev/null)" != "$(readlink -f "$weft")" ] || echo "$child"
    done
}
# hears CODE SIGNAL:TO…: TO is - for the group of the program, or nothing for `weft nccl-run` alone.
hears() {
    local want=$1 code=0 turn=0 each runner before='' now=''
    shift
    set -m # a group of its own
    "$weft" nccl-run "$work/hears" $# >"$work/out" 2>"$work/err" &
    runner=$!
    set +m
    for each; do
        for ((i = 0; i < 600; i++)); do grep -q "ready $turn" "$work/out" && break; sleep 0.1; done
        for ((i = 0; i < 600; i++)); do
            now=$(witness_of "$runner")
            [ -n "$now" ] && [ "$now" != "$before" ] && break
            sleep 0.1
        done
        before=$now
        kill "-${each%:*}" -- "${each#*:}$runner"
        turn=$((turn + 1))
    done
    wait "$runner" || code=$?
    [ "$code" -eq "$want" ] || die "$* was heard as $code, not as $want"
}
hears 8 INT:- INT:- INT:- INT:- INT:- INT:- INT: INT:-
hears 31 USR1: INT: USR1:- USR1:

mkdir -p "$work/a blank/lib/weft/nccl" "$work/a blank/bin"
cp "$weft" "$work/a blank/bin/weft"
cp "$library" "$work/a blank/lib/weft/nccl/libnccl.so.2"
expect 6 "$work/a blank/bin/weft" nccl-run true
says err 'LD_PRELOAD takes no path with a blank or a colon'
echo 'int main(void) { return 5; }' >"$work/static.c"
if cc -static "$work/static.c" -o "$work/static" 2>"$work/err"; then
    expect 5 env PATH="$work:$PATH" "$weft" nccl-run static
    says err '^weft: static is linked statically'
fi

# A program with a library of the same name in its own RPATH.
mkdir "$work/other"
cat >"$work/other.c" <<'END'
int ncclGetVersion(int *version) { *version = 1; return 0; }
int ncclCommSuspend(void) { return 0; }
const char *ncclGetLastError(void *comm) { return comm ? "" : "other"; }
END
cat >"$work/program.c" <<'END'
#include <stdio.h>
int ncclGetVersion(int *version);
int ncclCommSuspend(void);
const char *ncclGetLastError(void *comm);
int main(void)
{
    int version = 0;
    ncclGetVersion(&version);
    printf("version %d\n", version);
    int first = ncclCommSuspend(), second = ncclCommSuspend();
    printf("suspend %d %d: %s\n", first, second, ncclGetLastError(0));
    return 9;
}
END
expect 0 cc -shared -fPIC -Wl,-soname,libnccl.so.2 "$work/other.c" -o "$work/other/libnccl.so.2"
expect 0 cc "$work/program.c" -o "$work/program" "$work/other/libnccl.so.2" \
    -Wl,--disable-new-dtags,-rpath,"$work/other"
expect 9 "$work/program"
says out '^version 1$'
expect 9 "$weft" nccl-run "$work/program"
says out '^version 23007$'
says out '^suspend 5 5: ncclCommSuspend is not offered by weft: '
says err '^weft: refused: ncclCommSuspend \(2 times\)$'
! grep -q 'no call reached' "$work/err" || die "the library did not say that it was called"
# It knows one NCCL only, and its full path.
expect 0 cc "$work/program.c" -o "$work/fixed" "$work/other/libnccl.so.2" -Wl,-rpath,"$work/other"
expect 9 "$weft" nccl-run "$work/fixed"
says out '^version 23007$'
cat >"$work/opens.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *nccl = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
    int (*get)(int *) = nccl ? (int (*)(int *))dlsym(nccl, "ncclGetVersion") : 0, version = 0;
    return get == 0 || get(&version) != 0 || printf("version %d\n", version) < 0;
}
END
expect 0 cc "$work/opens.c" -o "$work/opens" -ldl
expect 0 "$weft" nccl-run "$work/opens" libnccl.so.2
says out '^version 23007$'
expect 0 "$weft" nccl-run "$work/opens" "$work/other/libnccl.so.2"
says out '^version 1$' # by its full path: not replaced, and said so
says err '^weft: no call reached weft'

# An installed tree, moved elsewhere.
expect 0 cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/moved"
expect 9 "$work/moved/bin/weft" nccl-run "$work/program"
says out '^version 23007$'

# Which library answers.
python=$(command -v python3) || exit 0
expect 0 env NCCL_DEBUG=INFO "$weft" nccl-run "$python" -c '
import ctypes
nccl = ctypes.CDLL("libnccl.so.2")
assert nccl.ncclGetUniqueId(ctypes.create_string_buffer(128)) == 0'
says err "NCCL INFO weft .* answers as NCCL 2.30.7, from .*$library$"
[ "$(grep -c 'NCCL INFO' "$work/err")" -eq 1 ] || die "more than one line"

# A variable of NCCL by which its programs meet, and weft's do not: said once.
expect 0 env NCCL_COMM_ID=localhost:4711 "$weft" nccl-run "$python" -c '
import ctypes
nccl = ctypes.CDLL("libnccl.so.2")
for _ in range(2):
    assert nccl.ncclGetUniqueId(ctypes.create_string_buffer(128)) == 0'
says err 'NCCL WARN NCCL_COMM_ID has no effect .*weft id --at HOST:PORT'
[ "$(grep -c 'NCCL_COMM_ID' "$work/err")" -eq 1 ] || die "more than one line"
