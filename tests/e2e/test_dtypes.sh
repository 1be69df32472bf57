# SPDX-License-Identifier: BSD-3-Clause
# Every data type and operator gives the right bits, in every collective that has them.
. "$(dirname "$0")/common.sh"

expect 0 "$weft" perf all_reduce -t 3 -d all -o all -b 4000 -e 4000 -n 1 -c 2
# 14 types with 6 operators, and 8 of integers with 3 on their bits.
all_right 108
expect 0 "$weft" perf reduce_scatter -t 2 -d all -o all -b 4000 -e 4000 -n 1
all_right 108
expect 0 "$weft" perf all -t 3 -d all -o all -b 1200 -e 1200 -n 1
# 4 collectives reduce, 10 move 14 types, the barrier has one row.
all_rows=$((4 * 108 + 14 * 10 + 1))
[ "$(grep -cv -e '^#' -e '^$' "$work/out")" -eq "$all_rows" ] || die "not $all_rows rows"
says out '^# Out of bounds values : 0 OK$'
says out '  f8e4m3  mulsum '
expect 0 "$weft" perf all_reduce -t 3 -d all -o user -b 4000 -e 4000 -n 1
all_right 14
says out '    half    user '

expect 0 "$weft" perf all_reduce -P 5 -d all -o bxor -b 4000 -e 4000 -n 1
all_right 8
says out '    int64    bxor '
expect 3 "$weft" perf all_reduce -t 2 -d half -o band -b 8 -e 8
says err 'operator band is for integers, the data type is half; .* pass them as uint16'
