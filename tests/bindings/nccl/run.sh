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

# A program with a library of the same name in its own RPATH.
mkdir "$work/other"
cat >"$work/other.c" <<'END'
int ncclGetVersion(int *version) { *version = 1; return 0; }
int ncclCommGrow(void) { return 0; }
const char *ncclGetLastError(void *comm) { return comm ? "" : "other"; }
END
cat >"$work/program.c" <<'END'
#include <stdio.h>
int ncclGetVersion(int *version);
int ncclCommGrow(void);
const char *ncclGetLastError(void *comm);
int main(void)
{
    int version = 0;
    ncclGetVersion(&version);
    printf("version %d\n", version);
    int first = ncclCommGrow(), second = ncclCommGrow();
    printf("grow %d %d: %s\n", first, second, ncclGetLastError(0));
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
says out '^grow 5 5: ncclCommGrow is not offered by weft: '
says err '^weft: refused: ncclCommGrow \(2 times\)$'

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
