# SPDX-License-Identifier: BSD-3-Clause
# `weft plan` lists, proves, prices, draws and compares the built-in plans.
. "$(dirname "$0")/common.sh"

# drawn FILE: it is an SVG that a parser takes.
drawn() {
    [ -s "$1" ] || die "no drawing in $1"
    if command -v xmllint >/dev/null; then
        xmllint --noout "$1" || die "$1 is not well-formed"
    elif command -v python3 >/dev/null; then
        python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])' "$1" ||
            die "$1 is not well-formed"
    fi
    grep -q '^</svg>$' "$1" || die "$1 does not end"
    ! grep -qE '"[^"]*(nan|inf)' "$1" || die "$1 has numbers that are none"
}

for collective in all_reduce reduce_scatter all_gather broadcast reduce; do
    for algo in algo-ring algo-flat; do
        expect 0 "$weft" plan $collective -n 5 -A $algo --check
        says out '^verdict +ok$'
        says out '^in place +ok$'
    done
done
expect 0 "$weft" plan all_reduce -n 3 -A algo-ring --text --rank -1
[ "$(grep -c '^plan ' "$work/out")" -eq 3 ] || die "not the plans of all ranks"
expect 0 "$weft" plan all_reduce -n 3 -A algo-ring --text --rank 2 --json
says out '"rank": 2'
expect 0 "$weft" plan all_reduce -n 3 --dot
says out 'digraph'

# What serves what
expect 0 "$weft" plan all_reduce --list
says out '^algo-ring '
expect 0 "$weft" plan --list
says out '^    all_reduce +any ranks$'
says out '^    all_reduce +up to 64 ranks$'
says out '^    option max_ranks '
expect 0 "$weft" plan --list --json
says out '"all_reduce": "any"'
expect 6 "$weft" plan all_reduce -A algo-rng
says err 'did you mean algo-ring'
# Without -A it is the algorithm of the configuration.
expect 0 "$weft" plan all_reduce -n 4 --set plan.algo=algo-ring
says out '^plan +all_reduce by algo-ring'
expect 0 "$weft" plan all_reduce -n 4 -A algo-tree --set plan.algo=algo-ring
says out '^plan +all_reduce by algo-tree'
expect 6 "$weft" plan all_reduce -n 4 --set plan.algo=algo-rng
says err 'did you mean algo-ring'
expect 6 "$weft" plan all_reduce -n 4 -A algo-swing
says err 'algo-swing is not loaded: add it to \[core\] algo'
expect 3 "$weft" plan all_reduce -n 100 -A algo-flat
says err 'these do:.*algo-ring'
if [ -e "$build/lib/weft/algo-hier.so" ]; then
    expect 3 "$weft" plan all_reduce -n 4 -A algo-hier --set "core.algo=algo-hier algo-ring"
    says err 'algorithms for all_reduce over 4 ranks: .*algo-ring'
    # Whoever needs hosts of several ranks is not among those that serve hosts of one.
    expect 3 "$weft" plan all_reduce --hosts 1,1,1 -A algo-hier --set "core.algo=algo-hier algo-ring"
    says err 'algorithms for all_reduce over 3 ranks: algo-ring$'
fi
# A plan that is proved and passes blocks on does not serve blocks whose lengths two ranks know.
if [ -e "$build/lib/weft/algo-file.so" ]; then
    for rank in 0 1; do
        cat <<EOF
plan all_to_all ranks 2 rank $rank root 0 chunks 1 tmp 1 lanes 1
port 0 lane 0 send to $((1 - rank)) channel 0
port 1 lane 0 receive from $((1 - rank)) channel 0
lane 0
move tmp[0] <- in[$((1 - rank))]
move port 0 <- tmp[0] like in[0]
move out[$((1 - rank))] <- port 1
move out[$rank] <- in[$rank]
EOF
    done >"$work/all-to-all.plan"
    from_file=(-n 2 -A algo-file --set core.algo=algo-file --set "algo-file.files=$work/all-to-all.plan")
    expect 0 "$weft" plan all_to_all "${from_file[@]}" --check
    expect 3 "$weft" plan all_to_all_v "${from_file[@]}" --check
    says out '^plan +all_to_all_v by algo-file'
    says err 'algo-file does not serve all_to_all_v over 2 ranks: its plan serves blocks of equal length only'
    expect 3 "$weft" plan all_to_all_v "${from_file[@]}" --cost --json
fi
expect 0 "$weft" plan all_to_all_v -n 3 -A algo-direct --set core.algo=algo-direct --check
says out '^plan +all_to_all_v by algo-direct'
expect 6 "$weft" plan send_recv
expect 6 "$weft" plan

expect 6 "$weft" plan all_reduce -n 4 -A algo-ring -S 2 -L 2
says err 'must be fewer'

# Topology and options
expect 0 "$weft" plan all_reduce --hosts 4,4,3 -A algo-ring --check
says out '11 ranks on 3 hosts'
expect 6 "$weft" plan all_reduce --hosts 4,4,3 -n 12
says err '11 ranks'
expect 0 "$weft" plan all_reduce -n 100 -A algo-flat:max_ranks=128 --check
says out 'algo-flat:max_ranks=128, 100 ranks'
expect 0 "$weft" plan all_reduce -n 100 -A algo-flat --param max_ranks=128 --check
expect 3 "$weft" plan all_reduce -n 4 -A algo-flat:max_rnks=128 --check
says err 'max_ranks'
expect 6 "$weft" plan all_reduce -n 4 -A algo-flat --param max_ranks=128 --param max_ranks=64 --check
says err 'algo-flat: max_ranks is given twice'
expect 6 "$weft" plan all_reduce -n 4 -A algo-flat:max_ranks=128,max_ranks=128 --check
says err 'algo-flat: max_ranks is given twice'

# Prices: 8 bytes over a ring of 4 take 6 messages
expect 0 "$weft" plan all_reduce -n 4 -A algo-ring --cost -b 8 -e 8 --alpha 5us --beta 0 --gamma 0
says out ' 30 us '
# … and over halving and doubling 6 too, of which 4 are waited for
expect 0 "$weft" plan all_reduce -n 4 -A algo-halving --cost -b 8 -e 8 --alpha 5us --overhead 1us --beta 0 --gamma 0
says out ' 22 us '
expect 0 "$weft" plan all_reduce -n 4 -A algo-ring --check --json
says out '"least_slots": 3'
says out '"chunks_busiest": 6'
says out '"origin": "'
expect 6 "$weft" plan all_reduce --alpha 5parsecs
says err '1.5us'
# … by [figures] where there are some, as `weft why` has them
printf '[figures]\nedge = net-shm inside latency=10us overhead=1us bandwidth=1GB/s\n' >"$work/figures.ini"
printf 'kernel = kernel-cpu float=2GB/s\n' >>"$work/figures.ini"
expect 0 "$weft" plan all_reduce -n 2 --cost -b 8 -e 8 --conf "$work/figures.ini"
says out '^prices +alpha 10 us, overhead 1 us, beta 1 GB/s, gamma 2 GB/s, .* by \[figures\]$'
# … and says so of none that no price was taken from
expect 0 "$weft" plan all_reduce -n 2 --cost -b 8 -e 8 \
    --set 'figures.edge=net-shm between latency=10us overhead=1us bandwidth=1GB/s'
says out '^prices +alpha .* net-shm and kernel-cpu$'
expect 0 "$weft" plan all_reduce -n 4 --cost --overhead 0
says out '^prices +alpha .* overhead 0 us, .* net-shm and kernel-cpu and the command line$'
# What costs nothing is alike
expect 0 "$weft" plan all_reduce -n 4 --compare algo-ring algo-tree --alpha 0 --beta 0 --gamma 0 -e 8
says out ' 0 us +0 us  alike$'
# All links together carry more bytes than 64 bits count.
expect 0 "$weft" plan all_gather -n 8192 -A algo-ring --cost -b 4096T -e 4096T
says out '^ +4 PiB .* 32 EiB '
# A name that is one letter off, in a plan's price and in a job. Lines of plugins that are not loaded, not there, or
# optional and not there, may stay: hosts share a file.
for call in "plan all_reduce -n 2 --cost" "perf barrier -t 2 -n 1"; do
    # shellcheck disable=SC2086
    expect 3 "$weft" $call --set 'figures.edge=net-shn inside latency=1us'
    says err '--set: \[figures\] edge: no transport is called "net-shn", did you mean net-shm\?'
    # shellcheck disable=SC2086
    expect 3 "$weft" $call --set 'figures.kernel=kernel-cpi float=1GB/s'
    says err 'no kernel is called "kernel-cpi", did you mean kernel-cpu\?'
    # shellcheck disable=SC2086
    expect 0 "$weft" $call --set core.net=net-shm --set 'figures.edge=net-socket inside latency=1us'
    # shellcheck disable=SC2086
    expect 0 "$weft" $call --set 'figures.edge=net-vendor between latency=1us' --set 'figures.kernel=kernel-vendor launch=5us'
    # shellcheck disable=SC2086
    expect 0 "$weft" $call --set 'core.net=net-vendor net-shm' --set net-vendor.optional=yes \
        --set 'figures.edge=net-vendor between latency=1us'
done
expect 3 "$weft" plan all_reduce -n 2 --cost --set 'figures.edge=net-shm inside latency=10parsecs'
says err '10parsecs'
# … for sizes that exist, in slots that hold something
expect 6 "$weft" plan all_reduce -n 4 --cost -b 0 -e 8
says err 'minbytes must be at least 1'
expect 6 "$weft" plan all_reduce -n 4 --cost -b 1K -e 8
expect 6 "$weft" plan all_reduce -n 4 --cost --slot-bytes 63
says err 'slot-bytes must be at least 64'
if [ -e "$build/lib/weft/algo-pat.so" ]; then
    expect 0 "$weft" plan all_gather -n 64 -A algo-pat --cost -b 8 -e 8 --pack 64 --slot-bytes 1K
    says out '1 × 32 B'
fi

# Drawings
for view in ring lanes auto; do
    expect 0 "$weft" plan all_reduce -n 8 -A algo-ring --svg "$work/$view.svg" --view $view
    drawn "$work/$view.svg"
    says out "ranks, view (ring|lanes)"
done
[ "$(grep -c '<title>rank [0-9]* to rank' "$work/ring.svg")" -eq 8 ] || die "not 8 links"
[ "$(grep -c '<title>rank [0-9]* lane' "$work/lanes.svg")" -eq 120 ] || die "not 120 moves"
expect 0 "$weft" plan broadcast -n 8 -A algo-flat --svg "$work/star.svg"
drawn "$work/star.svg"
says out 'view tree'
expect 3 "$weft" plan all_reduce -n 8 -A algo-ring --svg "$work/no.svg" --view tree
says err 'form no tree'
[ ! -e "$work/no.svg" ] || die "a refused drawing left a file"
expect 0 "$weft" plan all_reduce -n 4 --svg - --view lanes
cp "$work/out" "$work/stdout.svg"
drawn "$work/stdout.svg"
expect 6 "$weft" plan all_reduce --svg x --view pie
for other in --check --text --cost --dot --list '--compare algo-ring algo-flat'; do
    # shellcheck disable=SC2086 # words
    expect 6 "$weft" plan all_reduce -n 4 --svg "$work/not.svg" $other
    says err 'exclude each other'
done
expect 6 "$weft" plan broadcast -n 4 -r 4
says err 'root 4 is not below 4 ranks'
expect 6 "$weft" plan all_reduce -n 4 --hosts 5
says err 'hosts 5 is more than 4 ranks'
if [ -e "$build/lib/weft/algo-tree.so" ]; then
    expect 0 "$weft" plan all_reduce --hosts 4,4,4 -A algo-tree --svg "$work/tree.svg" \
        --set core.algo=algo-tree
    drawn "$work/tree.svg"
    says out 'view tree'
    [ "$(grep -c '>host [0-9]*<' "$work/tree.svg")" -eq 6 ] || die "not three hosts in two trees"
fi

# Slots and slices are those of a job with this configuration.
proved_at() {
    local want=$1
    shift
    expect 0 "$weft" plan all_reduce -n 4 -A algo-ring --check "$@"
    says out "^proved +at $want in "
}
proved_at '16 slots and 8 slices' --set exec.slots=10
proved_at '8 slots and 4 slices' --set net-shm.slots=8
proved_at '8 slots and 3 slices' --set net-shm.slots=8 -L 3
proved_at '6 slots and 3 slices' -S 6
expect 6 "$weft" plan all_reduce -n 4 -L 8 --set exec.slots=8
says err 'slices 8 must be fewer than --slots 8'

# Comparisons
expect 0 "$weft" plan all_reduce -n 6 --compare algo-ring algo-flat --alpha 5us
says out '^bits +other bits$'
says out '^crossover algo-ring is faster from about '
expect 0 "$weft" plan all_reduce -n 6 --compare algo-flat algo-flat:max_ranks=32
says out '^bits +the same bits$'
says out '^crossover none$'
expect 0 "$weft" plan all_reduce -n 6 --compare algo-ring algo-flat --json
says out '"crossovers"'
expect 6 "$weft" plan all_reduce --compare algo-ring

# A plugin that does not return is named; one that emits for ever is stopped by the limit of a plan.
wrong=(--set core.algo=algo-wrong --set algo-wrong.path="$build/lib/weft-test/algo-wrong.so"
    --set algo-wrong.right="$build/lib/weft/algo-ring.so")
expect 4 "$weft" plan all_reduce -n 4 --patience 1 "${wrong[@]}" --set algo-wrong.wrong=emit-hang
says err '^weft: algo-wrong has been inside emit for 1(\.[0-9]+)? s and does not return'
expect 4 "$weft" sim all_reduce -n 4 --patience 1 "${wrong[@]}" --set algo-wrong.wrong=emit-hang
says err '^weft: algo-wrong has been inside emit '
expect 3 "$weft" plan all_reduce -n 4 --patience 30 "${wrong[@]}" --set algo-wrong.wrong=emit-endless
says err 'algo-wrong: plan of rank 0: .*no end in sight'
expect 3 "$weft" plan all_reduce -n 4 --patience 30 -A algo-wrong "${wrong[@]}" --set algo-wrong.wrong=emit-endless
says err 'algo-wrong: plan of rank 0: .*no end in sight'
expect 0 "$weft" plan all_reduce -n 4 --patience 0 "${wrong[@]}"
expect 6 "$weft" plan all_reduce -n 4 --patience x

# One of something is one.
for n in 2 4; do
    expect 0 "$weft" plan broadcast -n $n --check
    ! grep -E '(^|[ (])1 (chunk|copie|hop|lane|link|message|move|port|rank|slice|slot|step|transfer|word)s\b' "$work/out" ||
        die "1 of several"
done
