# SPDX-License-Identifier: BSD-3-Clause
# What a rank holds: `weft info --memory`, `weft perf -M` and the log tell the same kinds.
. "$(dirname "$0")/common.sh"

# row KIND COLUMN: the figure in the last table of $work/out.
row() { grep -E "^[# ]+$1  " "$work/out" | tail -n 1 | sed "s/^[# ]*$1//" | awk -v at="$2" '{ print $at }'; }
more() { awk -v a="$2" -v b="$3" 'BEGIN { exit !(a + 0 >= b + 0) }' || die "$1: $2, expected at least $3"; }

expect 0 "$weft" info --memory -P 8 --set core.net=net-shm
says out '^after joining$'
says out '^after an all-reduce of 8 bytes$'
for kind in 'control connections' links 'small areas' slots 'message slots' arena programs workspace plans \
    'event log' history tables together; do
    [ "$(grep -cE "^  $kind  " "$work/out")" -eq 2 ] || die "not two rows of $kind"
done
more "KiB of links" "$(row links 1)" 4
more "KiB of links at most" "$(row links 3)" 28 # seven pages
more "connections" "$(row links 5)" 1
[ "$(row links 6)" -eq 7 ] || die "connections of a rank at most: $(row links 6), expected 7"
more "KiB of plans" "$(row plans 1)" 0.1
more "KiB of programs" "$(row programs 1)" 0.1
[ "$(row 'message slots' 1)" = 0.0 ] || die "slots of messages without such a transport"
[ "$(row 'slots' 3)" != 0.0 ] || die "the pool has no limit"

expect 0 "$weft" info --memory -P 4 --json --set core.net=net-socket
python3 - "$work/out" <<'PYTHON' || die "the JSON is not right"
import json, sys
said = json.load(open(sys.argv[1]))
kinds = {kind["name"]: kind for kind in said["after_all_reduce"]["kinds"]}
assert said["after_all_reduce"]["ranks"] == 4, said
assert said["joined"]["process"]["resident_most"] > 1e6
assert kinds["message slots"]["bytes_mean"] > 0 == kinds["slots"]["bytes_limit"]
assert kinds["message slots"]["bytes_most"] <= kinds["message slots"]["bytes_limit"]
assert kinds["workspace"]["bytes_limit"] is None
PYTHON

expect 0 "$weft" perf all_reduce -P 2 -b 1M -e 1M -n 1 -w 0 -M 1 --set core.net=net-shm --set core.log=info
says out '^# links  '
more "KiB of slots" "$(row slots 1)" 64
says err 'memory: rank 1 at its end holds, in KiB: control connections [0-9]+, links [0-9]+, .*together [0-9]+ KiB, [0-9]+ file descriptors$'
expect 6 "$weft" info -P 3
says err '^weft: -P goes with --memory$'
