#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The runner keeps its promises: RDMA devices work, output, exit code and results come back, the
# host's files are safe, and time limits kill.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! in_guest; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    guest --rxe 2 --mtu 4096 --out "$work" --env 'WORD=two words' 2>"$work/err"
    [ "$(cat "$work/result")" = 'two words' ] || die "the result did not come back"
    grep -qx 'said on stderr' "$work/err" || die "stderr did not come back"
    run=$source_dir/tests/guest/run
    start=$SECONDS
    "$run" --build "$build" --timeout 2 -- sleep 600 2>"$work/err"
    code=$?
    [ "$code" -eq 124 ] || die "exit code $code after the time limit"
    grep -q 'killed after 2 s' "$work/err" || die "the time limit was not explained"
    [ $((SECONDS - start)) -le 120 ] || die "a time limit of 2 s took $((SECONDS - start)) s"
    "$run" --build "$build" --roce 1 -- true 2>"$work/err"
    code=$?
    [ "$code" -eq 77 ] && grep -q 'RoCE v2 only' "$work/err" || die "--roce 1 gave exit code $code"
    exit 0
fi

note "two devices"
for device in rxe0 rxe1; do
    expect 0 ibv_devinfo -v -d "$device"
    says 'state:.*PORT_ACTIVE'
    says 'active_mtu:.*4096'
    says '::ffff:10\.7[78]\.0\.1, RoCE v2'
    says 'fd77::'
done
gid=$(gid_index rxe0)
timeout "$patience" ibv_rc_pingpong -d rxe0 -g "$gid" -n 50 >/tmp/server &
until_true grep -q ':4853 ' /proc/net/tcp /proc/net/tcp6 || die "ibv_rc_pingpong does not listen"
expect 0 ibv_rc_pingpong -d rxe0 -g "$gid" -n 50 localhost
says '50 iters'

note "folders and fences"
touch "$TREE/file" 2>/dev/null && die "the host's tree is writable"
touch /tmp/file /dev/shm/file /run/file || die "no writable folder"
expect 0 "$weft" version
echo "$WORD" >"$OUT/result"
echo 'said on stderr' >&2
with_memlock 64 bash -c 'ulimit -l' | grep -qx 64 || die "no memlock limit"
exit 0
