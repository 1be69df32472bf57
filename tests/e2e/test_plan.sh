# SPDX-License-Identifier: BSD-3-Clause
# `weft plan` proves every built-in plan and shows it.
. "$(dirname "$0")/common.sh"

for collective in all_reduce reduce_scatter all_gather broadcast reduce; do
    for algo in algo-ring algo-flat; do
        expect 0 "$weft" plan $collective -n 5 -A $algo --check
        says out '^verdict +ok$'
        says out '^in place +ok$'
    done
done
expect 0 "$weft" plan all_reduce -n 3 -A algo-ring --text --rank -1
[ -s "$work/out" ] || die "no text"
expect 0 "$weft" plan all_reduce -n 3 --dot
says out 'digraph'
expect 0 "$weft" plan all_reduce --list
says out '^algo-ring '
expect 6 "$weft" plan all_reduce -A algo-rng
says err 'did you mean algo-ring'
