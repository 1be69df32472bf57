# SPDX-License-Identifier: BSD-3-Clause
# `weft topo`: this machine, machines of hwloc's XML, and what is said where something is missing.
. "$(dirname "$0")/common.sh"
machine=$source_dir/tests/tools/topo/two_sockets.xml

# Without weft-topo beside it.
cp "$weft" "$work/weft"
expect 5 "$work/weft" topo
says err 'needs the program weft-topo beside weft$'

# Without a topo plugin: what the kernel tells
expect 0 "$weft" topo --set core.topo=
says out "NUMA nodes [0-9]+, cores [0-9]+, PUs [0-9]+ \(usable $(nproc)\)"
expect 3 "$weft" topo --set core.topo= --xml -
says err 'no topo plugin is loaded that writes XML; .*\(Debian: libhwloc-dev\)$'
expect 3 "$weft" topo --set core.rails=nic7:0
says err "\[core\] rails: this host has no NIC nic7; it has "
[ -e "$build/lib/weft/topo-hwloc.so" ] || skip "topo-hwloc was not built, hwloc was not found"

holds() {
    command -v jq >/dev/null || return 0
    jq -e "$1" "$work/out" >/dev/null || die "not true of the JSON: $1"
}
drawn() {
    grep -q '^</svg>$' "$1" || die "$1 does not end"
    ! grep -qE '"[^"]*(nan|inf)' "$1" || die "$1 has numbers that are none"
    ! command -v xmllint >/dev/null || xmllint --noout "$1" || die "$1 is not well-formed"
}

# What libpciaccess keeps of the names of PCI devices is never freed: no leak of ours.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"

# This machine, and again from its own XML
expect 0 "$weft" topo --xml "$work/here.xml" --svg "$work/here.svg"
says out "packages [0-9]+, NUMA nodes [0-9]+, cores [0-9]+, PUs [0-9]+ \(usable $(nproc)\)"
says out '^  net-socket device 0: '
drawn "$work/here.svg"
expect 0 "$weft" topo --json
holds '(.numa_nodes | length) >= 1 and ([.numa_nodes[].usable_pus] | add) >= 1'
holds '[.elsewhere[], .nics[].plugins[]] | any(.plugin == "net-shm")'
expect 0 "$weft" topo --xml-in "$work/here.xml" --json
holds '(.numa_nodes | length) >= 1 and .elsewhere == []'
if command -v taskset >/dev/null; then
    expect 0 taskset -c "$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')" "$weft" topo
    says out '\(usable 1\)'
fi

# A machine with two sockets
expect 0 "$weft" topo --xml-in "$machine" --svg "$work/two.svg"
says out '^two-sockets: packages 2, NUMA nodes 2, cores 16, PUs 32 \(usable 28\), GPUs 8, NICs 9$'
says out '^  NUMA node 1: 1008 GiB, 8 cores, 16 PUs \(16-31\), 12 usable$'
says out '^    L3 1 x 105 MiB, L2 8 x 2 MiB$'
says out '^          GPU5 0000:86:00\.0 .*, link 63\.0 GB/s, NUMA node 1$'
says out '^          nearest \(PIX\): NIC0 NIC1$'
says out '^ +GPU4( +NV){4} +X( +NV){3}( +SYS){5}( +PIX){2}( +PXB){2}$'
drawn "$work/two.svg"
[ "$(grep -c '<title>GPU[0-9] to NIC[0-9]: ' "$work/two.svg")" -eq 72 ] || die "not all paths"
expect 0 "$weft" topo --xml-in "$machine" --json
holds '(.gpus | length) == 8 and (.nics | length) == 9 and (.paths | length) == 17'
holds '.gpus[6] | .nearest == ["NIC7", "NIC8"] and .numa == 1'
holds '.gpus[6].bridges == ["bridge 0000:90:00.0", "bridge 0000:81:00.0", "host bridge 0000:80"]'
holds '.paths[0][0] == "X" and .paths[0][1] == "NV" and .paths[0][11] == "NODE"'
sed '/<distances2/,/<\/distances2>/d' "$machine" >"$work/pcie.xml"
expect 0 "$weft" topo --xml-in "$work/pcie.xml"
says out '^ +GPU4( +SYS){4} +X +PIX( +PXB){2}( +SYS){5}'
! grep -q ' NV ' "$work/out" || die "NVLinks without a word of them"
expect 0 "$weft" topo --xml-in "$machine" --svg -
cp "$work/out" "$work/stdout.svg"
drawn "$work/stdout.svg"

# What plugins say
fake=$build/lib/weft-test/kernel-cuda-fake.so
if [ -e "$fake" ]; then
    cuda=(--set core.kernel=kernel-cuda --set kernel-cuda.path="$fake")
    expect 0 "$weft" topo "${cuda[@]}"
    says out '^  kernel-cuda device 1: Device of threads, .* capability 9\.0$'
    expect 0 "$weft" topo "${cuda[@]}" --set kernel-cuda.device=7
    says out '^  kernel-cuda: device = 7: this process sees CUDA devices 0 to 1$'
    expect 0 "$weft" topo "${cuda[@]}" --set kernel-cuda.device=7 --json
    holds '.troubles[0].plugin == "kernel-cuda"'
fi

# What goes wrong
expect 3 "$weft" topo --xml-in "$work/none.xml"
says err "^weft: $work/none\.xml: cannot be opened: No such file"
echo '<svg/>' >"$work/other.xml"
expect 3 "$weft" topo --xml-in "$work/other.xml"
says err "^weft: $work/other.xml:1: <svg> where <topology> is expected$"
head -c 9000 "$machine" >"$work/cut.xml"
expect 3 "$weft" topo --xml-in "$work/cut.xml"
says err "^weft: $work/cut.xml:[0-9]+: this is no XML: "

# A made-up machine, and rails
expect 0 "$weft" topo --set topo-hwloc.synthetic="pack:2 numa:1 core:8 pu:2"
says out '^package 1$' # of no model that is known
says out 'packages 2, NUMA nodes 2, cores 16, PUs 32 \(usable 32\)'
expect 3 "$weft" topo --set topo-hwloc.synthetic="pack:1000 core:1000 pu:1000"
says err 'synthetic: more than 8192 PUs$'
expect 0 "$weft" topo --xml-in "$machine" --set core.rails="mlx5_0:0 ib4:1" --json
holds '.nics[0].rail == 0 and .nics[5].rail == 1 and (.nics[1] | has("rail") | not)'
expect 3 "$weft" topo --svg "$work/none/x.svg"
says err "^weft: cannot write $work/none/x\.svg: No such file"
expect 3 "$weft" topo --xml "$work/none/x.xml"
says err "^weft: cannot write $work/none/x\.xml"
expect 6 "$weft" topo --json --svg -
says err 'one of --json, --svg - and --xml - can have standard output'
expect 6 "$weft" topo node0
says err "takes no name, got 'node0'"
expect 6 "$weft" topo --xmlin x
says err 'did you mean --xml-in'
expect 3 "$weft" topo --set core.nett=x
says err 'did you mean net'
expect 0 "$weft" topo --help
says out 'One machine at a time'
