# SPDX-License-Identifier: BSD-3-Clause
# Every data type and operator gives the right bits, in every collective that has them.
. "$(dirname "$0")/common.sh"

expect 0 "$weft" perf all_reduce -t 3 -d all -o all -b 4000 -e 4000 -n 1 -c 2
all_right 84
expect 0 "$weft" perf reduce_scatter -t 2 -d all -o all -b 4000 -e 4000 -n 1
all_right 84
expect 0 "$weft" perf all -t 3 -d all -o all -b 1200 -e 1200 -n 1
# 14 types; 4 collectives reduce by 6 operators, 9 move, the barrier has one row.
all_rows=$((14 * (4 * 6 + 10) + 1))
[ "$(grep -cv -e '^#' -e '^$' "$work/out")" -eq "$all_rows" ] || die "not $all_rows rows"
says out '^# Out of bounds values : 0 OK$'
says out '  f8e4m3  mulsum '
expect 0 "$weft" perf all_reduce -t 3 -d all -o user -b 4000 -e 4000 -n 1
all_right 14
says out '    half    user '
