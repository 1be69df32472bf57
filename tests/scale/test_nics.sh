# SPDX-License-Identifier: BSD-3-Clause
# Rings and trees leave a host by the NICs that their graph has for them, where interfaces are devices of
# their own. Two hosts are network namespaces with two slow networks, and a machine file describes them.
. "$(dirname "$0")/../e2e/common.sh"
. "$(dirname "$0")/rails.sh"
command -v jq >/dev/null || skip "no jq"
prefix=wq$$-
trap 'rails_down $prefix; rm -rf "$work"' EXIT
rails_up $prefix 2 100mbit 2>"$work/err" ||
    skip "no network namespaces with shaped rails here: $(tail -n 1 "$work/err")"
sed 's/mlx5_/r/' "$source_dir/tests/unit/core/topo/machines/cpu-2s.machine" >"$work/machine"

# job ALGORITHM GRAPH_OPTION LINE…: all-reduces of 2 MiB by four ranks, two a host; the graph has these
# channels. Leaves the bytes that host 0 sent in sent0 and sent1, and the median time in time.
job() {
    local algorithm=$1 option=$2 pattern=ring before0 before1
    shift 2
    [ "$option" = rings ] || pattern=tree
    printf '%s\n' "weft-graph 1" "graph pattern=$pattern hosts=yes" "$@" >"$work/graph"
    before0=$(rail_bytes $prefix 0)
    before1=$(rail_bytes $prefix 1)
    expect 0 "$build/bin/scale_job" -n 4 -H 2 -N $prefix -- "$weft" perf all_reduce -b 2M -e 2M -n 3 \
        -w 1 -c 1 -I 1 --algo "$algorithm" --json --set "core.net=net-shm net-socket" \
        --set net-socket.bond=no --set "core.machine=$work/machine" --set "core.$option=$work/graph"
    # The last line is of the starter.
    jq -e -s '.[0].out_of_bounds.okay' "$work/out" >/dev/null || die "wrong results"
    time=$(jq -s '.[0].results[0].out_of_place.per_iter.p50 | floor' "$work/out")
    sent0=$(($(rail_bytes $prefix 0) - before0))
    sent1=$(($(rail_bytes $prefix 1) - before1))
}

# One ring, or tree, and one NIC: the other network has only what little the job says besides.
for algorithm in ring tree; do
    option=$([ $algorithm = ring ] && echo rings || echo trees)
    job algo-$algorithm $option "channel 0 in=1 out=1 order 1 0"
    [ $sent1 -gt 4000000 ] && [ $sent0 -lt $((sent1 / 8)) ] || die "$algorithm of NIC 1: $sent0 and $sent1 bytes"
    job algo-$algorithm $option "channel 0 in=0 out=0 order 1 0"
    [ $sent0 -gt 4000000 ] && [ $sent1 -lt $((sent0 / 8)) ] || die "$algorithm of NIC 0: $sent0 and $sent1 bytes"
done

# One ring over a network takes 0.25 s for 2 MiB; two rings with a network each take half.
job algo-ring rings "channel 0 in=0 out=0 order 1 0"
one=$time
job algo-ring rings "channel 0 in=0 out=0 order 0 1" "channel 1 in=1 out=1 order 1 0"
[ $((3 * sent0)) -gt $((2 * sent1)) ] && [ $((3 * sent1)) -gt $((2 * sent0)) ] ||
    die "two rings: $sent0 and $sent1 bytes"
[ $((one * 10)) -gt $((time * 15)) ] || die "two rings take $time us, one takes $one us"
