# SPDX-License-Identifier: BSD-3-Clause
# Every collective, the names and conventions of nccl-tests, the patterns of the vector collectives.
. "$(dirname "$0")/common.sh"

expect 0 "$weft" perf all -P 4 -b 4K -e 64K -f 16 -n 2
says out '^# Collective test starting: all_perf$'
says out '^# Out of bounds values : 0 OK$'
! grep -q SKIPPED "$work/out" || die "a collective was left out"
for name in all_reduce reduce_scatter all_gather broadcast reduce barrier all_to_all gather scatter \
    all_gather_v reduce_scatter_v all_to_all_v gather_v scatter_v send_recv; do
    says out "^# OK +$name +[12] "
done

# Sizes are those of nccl-tests: 64K/4/4 = 4096 floats per block; messages are as large as asked for.
expect 0 "$build/bin/alltoall_perf" -P 4 -b 64K -e 64K -n 2
says out '^ +65536 +4096 +float +none +-1 '
all_right 1
expect 0 "$build/bin/sendrecv_perf" -P 3 -b 64K -e 64K -n 2 -m 3
says out '^ +65536 +16384 +float +none +-1 .* N/A +N/A +N/A +N/A$'
all_right 1
expect 0 "$build/bin/alltoallv_perf" -P 4 -b 64K -e 64K -n 2
all_right 1
# Short calls of a group are fused; with -C 1 they are requests.
expect 0 "$build/bin/all_gather_perf" -P 3 -b 96 -e 9600 -f 10 -n 2 -m 5
all_right 3
expect 0 "$build/bin/all_reduce_perf" -P 3 -b 96 -e 96 -n 2 -m 5 -C 1
for collective in gather scatter; do
    expect 0 "$build/bin/${collective}_perf" -P 3 -b 4K -e 64K -f 16 -n 2 -r -1
    all_right 6
done

for pattern in linear random:3 sparse one zipf; do
    for collective in all_gather_v reduce_scatter_v all_to_all_v gather_v scatter_v; do
        expect 0 "$weft" perf "$collective" -t 5 -b 400 -e 40000 -f 100 -n 1 --pattern "$pattern"
        all_right 2
        says out "^# Blocks of the vector collectives: ${pattern%:*}, seed "
    done
done

# Plans that nobody proved are right in place, too: what is not known to read before it writes is staged.
expect 0 "$weft" perf all -t 4 -b 1K -e 1K -n 2 --set plan.verify=off
says out '^# Out of bounds values : 0 OK$'
expect 0 "$weft" perf all_to_all -t 20 -b 1280 -e 1280 -n 1 --set plan.verify_limit=1K
says err 'used without proof'
says out '^# Out of bounds values : 0 OK$'

# One algorithm for all: what it does not serve is left out loudly, the rest runs.
expect 0 "$weft" perf all -t 3 -b 4K -e 4K -n 2 --algo algo-direct
says out '^# SKIPPED broadcast: .*would serve it: '
says out '^# OK +all_to_all +1 '
says out '^# SKIPPED +broadcast +0 '
expect 0 "$weft" perf all_to_all_v -t 3 -b 4K -e 4K -n 20 --stats --algo algo-direct
says out '^#   out-of-place +min [0-9.]+  p50 [0-9.]+  p90 [0-9.]+  p99 [0-9.]+  max [0-9.]+  stddev '
all_right 1
