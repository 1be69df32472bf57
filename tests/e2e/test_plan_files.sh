# SPDX-License-Identifier: BSD-3-Clause
# Algorithms that are files: loaded, proved for the queues they will run with, run, and refused.
. "$(dirname "$0")/common.sh"

[ -e "$build/lib/weft/algo-file.so" ] || skip "algo-file is not in the tree"
plans=$source_dir/examples/plans
# plan FILES COLLECTIVE…: `weft plan` with algo-file only.
plan() {
    local code=$1 files=$2
    shift 2
    expect "$code" "$weft" plan "$@" -A algo-file --set core.algo=algo-file \
        --set "algo-file.files=$files"
}
# perf COLLECTIVE RANKS ROOT FILE…: runs it by algo-file, everything else by algo-flat.
perf() {
    local collective=$1 ranks=$2 root=$3 file=$4
    shift 4
    expect 0 "$weft" perf "$collective" -P "$ranks" -r "$root" -b 1K -e 1M -f 32 -n 2 -c 1 \
        --set "core.algo=algo-file algo-flat" --set "tuner.prefer=$collective:algo-file" \
        --set "algo-file.files=$plans/$file" "$@"
    all_right 3
}

# The examples are what the script writes.
if command -v python3 >/dev/null; then
    mkdir "$work/again"
    python3 "$plans/generate.py" "$work/again"
    for file in "$work"/again/*.xml; do
        cmp "$file" "$plans/$(basename "$file")" || die "$(basename "$file") is another one"
    done
fi

# What `weft plan` prints for all ranks comes back unchanged.
for algo in algo-ring algo-flat; do
    for n in 2 3 7; do
        expect 0 "$weft" plan all_reduce -n $n -A $algo --text --rank -1
        cp "$work/out" "$work/printed.plan"
        plan 0 "$work/printed.plan" all_reduce -n $n --text --rank -1
        cmp "$work/out" "$work/printed.plan" || die "$algo over $n ranks changed"
    done
done
plan 0 "$plans/doubling-all-reduce-4.plan" all_reduce -n 4 --check
says out '^verdict +ok$'
perf all_reduce 4 0 doubling-all-reduce-4.plan

# A relative path begins at the current folder.
(cd "$plans" && plan 0 doubling-all-reduce-4.plan all_reduce -n 4 --check) || exit 1

# Texts are refused with path and line; a file that is not there with its path.
sed 's/^   1: move/   1: mvoe/' "$plans/doubling-all-reduce-4.plan" >"$work/broken.plan"
plan 3 "$work/broken.plan" all_reduce -n 4 --check
says err "broken.plan:12: .mvoe. where an instruction is expected; the nearest word is .move."
sed '/rank 3 root/,$d' "$plans/doubling-all-reduce-4.plan" >"$work/short.plan"
plan 3 "$work/short.plan" all_reduce -n 4 --check
says err 'short.plan:1: all_reduce over 4 ranks, but the file holds 3 plans'
plan 3 "$work/none.plan" all_reduce -n 4 --check
says err 'none.plan, listed in \[algo-file\] files: cannot be opened: No such file'
plan 3 "$plans/doubling-all-reduce-4.plan" all_gather -n 4 --check
says err 'no file holds all_gather over 4 ranks; held: all_reduce over 4'
expect 3 "$weft" perf all_reduce -P 2 -b 1K -e 1K -n 1 --set core.algo=algo-file \
    --set "algo-file.files=$work/broken.plan"
says err 'broken.plan:12: .mvoe. where'

# Ranks that fold in orders of their own may get other bits of a sum: the log says so.
expect 0 "$weft" plan all_reduce -n 3 -A algo-flat --text --rank -1
cp "$work/out" "$work/one-order.plan"
sed 's/<- port 2, in\[0\], port 3/<- port 3, port 2, in[0]/' "$work/out" >"$work/orders.plan"
cmp -s "$work/one-order.plan" "$work/orders.plan" && die "the order is the same"
for file in one-order orders; do
    expect 0 "$weft" perf all_reduce -P 3 -b 1K -e 1K -n 2 -c 1 --set "core.algo=algo-file algo-flat" \
        --set tuner.prefer=all_reduce:algo-file --set "algo-file.files=$work/$file.plan" \
        --set core.log=info
    all_right 1
    grep -c 'algo-file: plan of all_reduce for 3 ranks folds in another order on some ranks' "$work/err" >"$work/$file.count"
done
grep -qx 0 "$work/one-order.count" || die "told although the order is the same"
grep -qx 0 "$work/orders.count" && die "not told: $(cat "$work/err")"

plan 0 "" all_reduce -n 4 --list
plan_xml=$plans/allpairs-all-reduce-4.xml
timeout 60 "$weft" plan all_reduce -n 4 -A algo-file --set core.algo=algo-file \
    --set "algo-file.files=$plan_xml" --check >"$work/out" 2>"$work/err"
if grep -q 'built without expat' "$work/err"; then
    printf 'XML is left out: built without expat\n'
    exit 0
fi

perf all_reduce 4 0 allpairs-all-reduce-4.xml
perf all_gather 4 0 ring-all-gather-4.xml
perf reduce_scatter 4 0 ring-reduce-scatter-4.xml
perf broadcast 4 1 chain-broadcast-4-root-1.xml
plan 0 "$plans/pairs-all-to-all-4.xml" all_to_all -n 4 --check
says out '^verdict +ok$'
plan 3 "$plans/chain-broadcast-4-root-1.xml" broadcast -n 4 --check
says err 'held: broadcast over 4 with root 1'

# Eight chunks out before one comes in: a question of depth, answered before anything runs.
hangs=$plans/hangs-all-reduce-2.xml
plan 0 "$hangs" all_reduce -n 2 -S 16 -L 2 --check
plan 3 "$hangs" all_reduce -n 2 -S 15 -L 2 --check
says out 'deadlock: rank 0 lane 0 pc 0: waits for a free slot to rank 1 channel 0 \(15 of 15 in use\)'
expect 3 "$weft" perf all_reduce -P 2 -b 1K -e 1K -n 1 --set core.algo=algo-file \
    --set "algo-file.files=$hangs" --set exec.slots=4
says err 'ERR_PLAN: algo-file: plan of all_reduce for 2 ranks refused, deadlock: rank 0 lane 0 pc 0'
says err 'waits for a free slot to rank 1 channel 0 \(4 of 4 in use\)'
perf all_reduce 2 0 hangs-all-reduce-2.xml --set exec.slots=32
# Left to itself the job has as many slots as the longest step needs, here and in `weft plan`.
plan 0 "$hangs" all_reduce -n 2 --check
perf all_reduce 2 0 hangs-all-reduce-2.xml
perf all_reduce 2 0 hangs-all-reduce-2.xml --set core.net=net-socket
expect 0 "$weft" perf all_reduce -P 4 -b 8 -e 4M -f 8 -n 2 --set core.algo="algo-flat algo-ring algo-file" \
    --set "algo-file.files=$hangs"

sed 's/type="re"/type="ree"/' "$hangs" >"$work/type.xml"
plan 3 "$work/type.xml" all_reduce -n 2 --check
says err 'type.xml:7: unknown step type "ree"; the nearest is re '
sed 's/coll="allreduce"/coll="custom"/' "$hangs" >"$work/custom.xml"
plan 3 "$work/custom.xml" all_reduce -n 2 --check
says err 'custom.xml:2: coll is "custom"'
