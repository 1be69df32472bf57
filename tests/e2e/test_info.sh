# SPDX-License-Identifier: BSD-3-Clause
# What `weft info` shows of all: kinds, plugins, single options; and which file was read.
. "$(dirname "$0")/common.sh"

printf '[net-shm]\nslots = 8\n' >"$work/mine.ini"
expect 0 "$weft" info
says out '^configuration: no file was read$'
expect 0 "$weft" info net --conf "$work/mine.ini"
says out "^configuration: $work/mine.ini$"
says out '^net$'
says out '^  net-shm '
says out '^  net-socket '
says out "mine.ini:2"
! grep -qE '^(algo|kernel|tuner|topo)$|^  algo' "$work/out" || die "other kinds are shown"
expect 0 "$weft" info net-shm algo-ring
says out '^  net-shm '
says out '^  algo-ring '
! grep -qE '^  (net-socket|algo-tree)|^kernel$' "$work/out" || die "other plugins are shown"
expect 0 "$weft" info net-shm --conf "$work/mine.ini" --json
if command -v jq >/dev/null; then
    [ "$(jq -r '.net | map(.name) | join(" ")' "$work/out")" = net-shm ] || die "names in JSON"
    [ "$(jq -r .file "$work/out")" = "$work/mine.ini" ] || die "the file in JSON"
    [ "$(jq 'has("algo")' "$work/out")" = false ] || die "another kind in JSON"
fi
expect 0 "$weft" info --option net-shm.slots --conf "$work/mine.ini"
says out '^net-shm\.slots = 8$'
says out "mine.ini:2"
[ "$(wc -l <"$work/out")" -eq 2 ] || die "more than one option"
expect 0 "$weft" info --option core.net
says out '^core\.net = '
expect 6 "$weft" info --option core.nett
says err "did you mean core.net\?"
expect 6 "$weft" info --option pool_bytes
says err "did you mean exec.pool_bytes"
expect 6 "$weft" info net-shn
says err "unknown kind or plugin in use 'net-shn'; did you mean net-shm\?"
expect 6 "$weft" info net --launcher
