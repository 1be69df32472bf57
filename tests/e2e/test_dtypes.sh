# SPDX-License-Identifier: BSD-3-Clause
# Every data type and operator gives the right bits.
. "$(dirname "$0")/common.sh"

expect 0 "$weft" perf all_reduce -t 3 -d all -o all -b 4000 -e 4000 -n 1 -c 2
all_right 84
expect 0 "$weft" perf reduce_scatter -t 2 -d all -o all -b 4000 -e 4000 -n 1
all_right 84
