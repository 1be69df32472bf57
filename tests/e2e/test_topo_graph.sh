# SPDX-License-Identifier: BSD-3-Clause
# `weft topo --graph`: channels of a machine as text, JSON, drawing and file, and what is refused.
. "$(dirname "$0")/common.sh"
[ -x "$build/bin/weft-topo" ] || skip "weft-topo was not built, hwloc was not found"
machines=$source_dir/tests/unit/core/topo/machines
h100=$machines/hgx-h100.machine

holds() {
    command -v jq >/dev/null || return 0
    jq -e "$1" "$work/out" >/dev/null || die "not true of the JSON: $1"
}

expect 0 "$weft" topo --graph --machine "$h100"
says out '^hgx-h100: ring over NICs, channels 8 x 50\.000 GB/s = 400\.000 GB/s, the best there is$'
says out '^  limit: the port of NIC[0-7], (sending|receiving), 50\.000 GB/s for 1$'
says out '^  channel 0: NIC0 > GPU0 > GPU1 > GPU2 > GPU3 > GPU4 > GPU5 > GPU6 > GPU7 > NIC7$'
[ "$(grep -c '^  channel ' "$work/out")" -eq 8 ] || die "not eight channels"
cp "$work/out" "$work/first"
expect 0 "$weft" topo --graph --machine "$h100"
cmp -s "$work/out" "$work/first" || die "two searches differ"

expect 0 "$weft" topo --graph --machine "$h100" --json
holds '.nchannels == 8 and .total_mb_per_second == 400000 and .proof == "best" and .hosts'
holds '[.channels[] | .order | sort == [range(8)]] | all'
holds '([.channels[].nic_in] | sort) == [range(8)] and ([.channels[].nic_out] | sort) == [range(8)]'

expect 0 "$weft" topo --graph --machine "$h100" --one-host --pattern tree --channels 4 --json
holds '.pattern == "tree" and .nchannels <= 4 and (.hosts | not) and .channels[0].nic_in == null'

# Written and read: the same channels, measured again.
expect 0 "$weft" topo --graph --machine "$h100" --graph-out "$work/graph" --svg "$work/graph.svg"
expect 0 "$weft" topo --graph --machine "$h100" --graph-in "$work/graph"
says out '= 400\.000 GB/s, as given$'
grep '^  channel' "$work/first" >"$work/a"
grep '^  channel' "$work/out" >"$work/b"
cmp -s "$work/a" "$work/b" || die "the file changes the channels"
grep -q '^</svg>$' "$work/graph.svg" || die "the drawing does not end"
! grep -qE '"[^"]*(nan|inf)' "$work/graph.svg" || die "the drawing has numbers that are none"
! command -v xmllint >/dev/null || xmllint --noout "$work/graph.svg" || die "not well-formed"
[ "$(grep -c '<title>GPU[0-9] to GPU[0-9]: past PCIe' "$work/graph.svg")" -eq 56 ] ||
    die "not all hops are drawn"
printf 'weft-machine 1\nnode 0\n' >"$work/unnamed"
expect 0 "$weft" topo --graph --machine "$work/unnamed"
says out '^.*/unnamed: ring'
expect 0 "$weft" topo --graph --machine "$machines/nothing.machine"
says out 'channels 1 x 0\.000 GB/s'

# This machine, whatever it has, and one that hwloc describes
expect 0 "$weft" topo --graph
says out 'ring over NICs, channels [0-9]+ x '

# What does not fit, or is wrong
expect 3 "$weft" topo --graph --machine "$machines/cpu-2s.machine" --graph-in "$work/graph"
says err 'graph:4: '
printf 'weft-machine 1\ngpu 0 pcie=1GB/s\n' >"$work/bad"
expect 3 "$weft" topo --graph --machine "$work/bad"
says err 'bad:2: unknown key "pcie", did you mean pci\?'
expect 6 "$weft" topo --machine "$h100"
says err '--machine, --pattern, .* need --graph'
expect 6 "$weft" topo --pattern tree
says err '--machine, --pattern, .* need --graph'
expect 6 "$weft" topo --graph --machine "$h100" --pattern star
says err "ring, chain or tree, got 'star'"
expect 6 "$weft" topo --graph --machine "$h100" --channels 65
says err 'from 1 to 64'
expect 6 "$weft" topo --graph --machine "$h100" --json --svg -
says err 'can have standard output'

# A job on one host runs the rings of the machine that it was given, or says what is wrong with it.
if [ -e "$build/lib/weft/algo-ring.so" ]; then
    expect 0 "$weft" perf all_reduce -t 8 -b 64K -e 64K -n 1 -A algo-ring --set "core.machine=$h100" --set core.log=debug
    says err 'machine hgx-h100 from .*: 8 GPUs, 8 NICs, [0-9]+ rings'
    expect 3 "$weft" perf all_reduce -t 2 -b 8 -e 8 -n 1 --set "core.machine=$work/bad"
    says err '\[core\] machine: .*bad:2: unknown key "pcie"'
    mkfifo "$work/pipe" # which nobody writes to
    expect 3 timeout 20 "$weft" perf all_reduce -t 2 -b 8 -e 8 -n 1 --set "core.machine=$work/pipe"
    says err '\[core\] machine: .*/pipe is no regular file$'
fi

# A job that needs its machine asks the plugin that the tools ask, and hears of wrong options like others.
if [ -e "$build/lib/weft/topo-hwloc.so" ]; then
    expect 0 "$weft" topo --json
    says out '"source": "hwloc"'
    expect 0 "$weft" topo --graph --one-host --graph-out "$work/rings"
    expect 0 "$weft" perf all_reduce -t 2 -b 8 -e 8 -n 1 --set "core.rings=$work/rings" --set core.log=debug
    says err 'topo: machine .* from hwloc: '
    # Files are read, too, where there is nothing to order: one node and no GPU.
    for option in rings trees; do
        expect 3 "$weft" perf all_reduce -t 2 -b 8 -e 8 -n 1 --set "core.$option=$work/none"
        says err "\\[core\\] $option: cannot read $work/none: No such file"
    done
    expect 3 env WEFT_TOPO_HWLOC_XLM=/nothing "$weft" perf all_reduce -t 2 -b 8 -e 8 -n 1
    says err 'WEFT_TOPO_HWLOC_XLM.* did you mean WEFT_TOPO_HWLOC_XML'
    expect 3 env WEFT_TOPO_HWLOC_XML=/nothing.xml "$weft" perf all_reduce -t 2 -b 8 -e 8 -n 1 --set "core.rings=$work/rings"
    says err '/nothing.xml'
fi
exit 0
