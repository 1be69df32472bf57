# SPDX-License-Identifier: BSD-3-Clause
# Network namespaces are hosts to algorithms: rings and levels over hosts of unequal numbers of ranks,
# and over hosts to which ranks are dealt in turn.
. "$(dirname "$0")/../e2e/common.sh"
. "$(dirname "$0")/hosts.sh"
hosts=4
prefix=wl$$h
trap 'hosts_down $prefix $hosts; rm -rf "$work"' EXIT
hosts_up $prefix $hosts 2>"$work/err" || skip "no network namespaces here: $(tail -n 1 "$work/err")"

# run RANKS [-r] COLLECTIVE ALGORITHM
run() {
    local ranks=$1 turn=()
    shift
    [ "$1" != -r ] || { turn=(-r) && shift; }
    expect 0 "$build/bin/scale_job" -n "$ranks" -H $hosts -N $prefix "${turn[@]}" -- "$weft" perf "$1" \
        -b 1K -e 64K -f 8 -n 2 -w 1 --algo "$2" --set "core.net=net-shm net-socket" \
        --set "core.topology=$work/racks"
    says out '^# Out of bounds values : 0 OK$'
}
printf 'rack1 *\n' >"$work/racks"

# 10 ranks on 4 hosts: 3, 3, 3, 1.
for collective in all_reduce broadcast reduce all_gather reduce_scatter all_gather_v reduce_scatter_v \
    gather scatter all_to_all gather_v scatter_v all_to_all_v; do
    run 10 $collective algo-hier
done
run 10 -r all_gather_v algo-hier
for collective in all_reduce broadcast reduce all_gather reduce_scatter all_gather_v reduce_scatter_v; do
    run 8 -r $collective algo-ring
done
# On one host there would be nothing for it to do.
expect 3 "$weft" perf all_reduce -P 4 -b 8 -e 8 --algo algo-hier
says err 'needs several hosts; all 4 ranks are on one'
