# SPDX-License-Identifier: BSD-3-Clause
# Machines of files under hosts that are network namespaces: rings and trees of the search carry data
# and are proved, graph files take their place, and all ranks use what one rank of a host found.
. "$(dirname "$0")/../e2e/common.sh"
. "$(dirname "$0")/hosts.sh"
hosts=2
prefix=wm$$h
machines=$source_dir/tests/unit/core/topo/machines
trap 'hosts_down $prefix $hosts; rm -rf "$work"' EXIT
hosts_up $prefix $hosts 2>"$work/err" || skip "no network namespaces here: $(tail -n 1 "$work/err")"

# run CODE COLLECTIVE ALGORITHM [OPTION …]: 8 ranks on two hosts, with the machine in $machine.
run() {
    local code=$1 collective=$2 algorithm=$3
    shift 3
    expect "$code" "$build/bin/scale_job" -n 8 -H $hosts -N $prefix -- "$weft" perf "$collective" \
        -b 4K -e 64K -f 16 -n 2 -w 1 --algo "$algorithm" --set "core.net=net-shm net-socket" \
        --set "core.machine=$machine" --set core.log=debug "$@"
    [ "$code" -ne 0 ] || says out '^# Out of bounds values : 0 OK$'
}

# Each host tells what it found once, not once a rank.
machine=$machines/hgx-h100.machine
run 0 all_reduce algo-ring
says err 'machine hgx-h100 from .*hgx-h100.machine: 8 GPUs, 8 NICs, 8 rings and 8 trees'
[ "$(grep -c 'machine hgx-h100 from' "$work/err")" -eq $hosts ] || die "not one look a host"
for collective in reduce_scatter all_gather all_gather_v reduce_scatter_v broadcast reduce; do
    run 0 $collective algo-ring
done
for collective in all_reduce broadcast reduce; do
    run 0 $collective algo-tree
done
for collective in all_reduce all_gather_v all_to_all gather; do
    run 0 $collective algo-hier
done
machine=$machines/cpu-2s.machine
run 0 all_reduce algo-ring
run 0 all_reduce algo-hier

# A graph file takes the place of the search; one that does not fit ends the job with its line.
printf 'weft-graph 1\ngraph pattern=ring hosts=yes\nchannel 0 in=0 out=1 order 0 1\n' >"$work/rings"
run 0 all_reduce algo-ring --set "core.rings=$work/rings"
says err 'machine cpu-2s from .*: 0 GPUs, 2 NICs, 1 rings and 2 trees'
printf 'weft-graph 1\ngraph pattern=ring hosts=yes\nchannel 0 in=0 out=7 order 0 1\n' >"$work/rings"
run 1 all_reduce algo-ring --set "core.rings=$work/rings"
says err 'rings:3: '
machine=$work/none
run 1 all_reduce algo-ring
says err "none"
