# SPDX-License-Identifier: BSD-3-Clause
# Forked ranks over every transport: results are right, the table is that of nccl-tests.
. "$(dirname "$0")/common.sh"

sweep=(-P 4 -b 8 -e 1M -f 16 -n 3)
expect 0 "$weft" perf all_reduce "${sweep[@]}"
all_right 5
head -n 1 "$work/out" | grep -q '^# weft version ' || die "the first line does not name weft"
says out '^# Collective test starting: all_reduce_perf$'
says out '^#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong $'
says out '^# Avg bus bandwidth    : [0-9.e+-]+ $'

for net in net-shm net-socket; do
    [ -e "$build/lib/weft/$net.so" ] || die "$net is not built"
    expect 0 "$weft" perf all_reduce "${sweep[@]}" --set core.net="$net"
    all_right 5
done
for collective in all_gather reduce_scatter broadcast reduce; do
    expect 0 "$build/bin/${collective}_perf" -P 3 -b 4K -e 64K -f 16 -n 2 -r -1
    rows=2
    case $collective in broadcast | reduce) rows=6 ;; esac
    all_right $rows
done
expect 0 "$weft" perf barrier -P 3 -n 5
says out '^ +0 +0 +none +none +-1 '
