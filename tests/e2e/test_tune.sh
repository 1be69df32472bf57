# SPDX-License-Identifier: BSD-3-Clause
# `weft tune` writes an INI that weft reads, a plot and a state from which it goes on; `weft why` tells
# what is chosen, and which rule decided.
. "$(dirname "$0")/common.sh"
cd "$work" || die "no folder"

# The file that is written is one that is read, and its rules decide.
expect 0 "$weft" tune all_reduce broadcast -P 2 -b 8 -e 4K -f 16 -n 3 -t 0.0005 -O tuned.ini
says out '^# [0-9]+ results; rules and figures in tuned.ini'
for file in tuned.ini tuned.ini.state tuned-all_reduce.svg tuned-broadcast.svg; do
    [ -s "$file" ] || die "no $file"
done
grep -q '^edge = net-shm inside latency=' tuned.ini || die "no edge"
grep -q '^kernel = kernel-cpu .*float=' tuned.ini || die "no kernel"
grep -q '^rule = all_reduce bytes=8\.\..* ranks=2 hosts=1: algo-' tuned.ini || die "no rule"
grep -q '^kernel = kernel-cpu .*memory=.*GB/s' tuned.ini || die "no rate of the memory"
grep -q '^cache = [0-9]' tuned.ini || die "no size of the caches"
says out '^# With the figures found here it is wrong by [0-2]?[0-9]?[0-9] %'
expect 0 "$weft" config --conf tuned.ini
expect 0 "$weft" why all_reduce -P 2 -b 8 -e 2K --conf tuned.ini
says out 'tuned.ini:[0-9]+ all_reduce bytes='
says out '^# all 2 ranks answer alike'
expect 0 "$weft" perf all_reduce -P 2 -b 8 -e 1K -f 8 --conf tuned.ini
all_right 3

expect 0 "$weft" perf all_reduce -P 2 -b 1K -e 1K --model --conf tuned.ini
says out '^# +model +[0-9.]+ us, [+-][0-9]+ %'

# TCP inside a host costs what net-socket says of it; where ranks outnumber cores a slice takes twice the
# overhead of a core, unless a line of [figures] says else.
tcp=(-P 4 -b 8K -e 8K --set core.net=net-socket --set figures.cores=2)
expect 0 "$weft" why all_gather "${tcp[@]}"
says out '^# inside a host: net-socket, 8 us a message, 6 us a further one, 8 GB/s'
cp "$work/out" told
expect 0 "$weft" why all_gather "${tcp[@]}" --set "figures.edge=net-socket inside slice=12us"
cmp -s told "$work/out" || die "a slice does not take twice the overhead"
expect 0 "$weft" why all_gather "${tcp[@]}" --set "figures.edge=net-socket inside slice=100us"
! cmp -s told "$work/out" || die "the line of [figures] does not hold"

# What the configuration says of the cores is in the file that takes its place, or less where others take them.
expect 0 "$weft" tune all_reduce -P 2 -b 8 -e 8 -n 1 -t 0.0005 -O cores.ini --set figures.cores=0.4
grep -qE '^cores = 0\.(40|[0-3][0-9])$' cores.ini || die "the cores are lost"

# A file that people have written, or added to, is not replaced.
quick=(tune all_reduce -P 2 -b 8 -e 8 -n 1 -t 0.0005)
printf '[boot]\nheartbeat = 1s\n' >mine.ini
{ cat cores.ini && cat mine.ini; } >added.ini
for file in mine.ini added.ini; do
    cp $file before
    expect 6 "$weft" "${quick[@]}" --conf $file -O $file
    says err "--output $file: a file that is not all by weft tune and would be lost"
    cmp -s $file before || die "$file is not as it was"
done
expect 0 "$weft" "${quick[@]}" --conf cores.ini -O cores.ini

# An interrupted run goes on: half of the state, then all of it, without what was there.
grep -c . tuned.ini.state >all
head -n 4 tuned.ini.state >half
cut -c 1-12 < <(tail -n 1 tuned.ini.state) | tr -d '\n' >>half
cp half tuned.ini.state
expect 0 "$weft" tune all_reduce broadcast -P 2 -b 8 -e 4K -f 16 -n 3 -t 0.0005 -O tuned.ini
says err 'tuned.ini.state has 3 results already'
head -n 4 tuned.ini.state | cmp -s - <(head -n 4 half) || die "what was measured is lost"
# Of the point that was cut all candidates are measured, once more those that were there.
there=$(sed -n 2p half | cut -d ' ' -f 1-3)
[ "$(grep -c "^$there " tuned.ini.state)" = 2 ] || die "a part of a point was taken for all of it"

# Other algorithms are another job: those that are new are measured, and no rule has one that is gone.
expect 0 "$weft" tune all_reduce -P 2 -b 8 -e 8 -n 1 -t 0.0005 -O other.ini
expect 0 "$weft" tune all_reduce -P 2 -b 8 -e 8 -n 1 -t 0.0005 -O other.ini --set core.algo=algo-ring
says err 'other.ini.state is of another job'
grep -q '^rule = .*: algo-ring$' other.ini || die "a rule of an algorithm that is not loaded"
expect 0 "$weft" tune all_reduce -P 2 -b 8 -e 8 -n 1 -t 0.0005 -O other.ini
grep -q '^all_reduce 8 algo-flat ' other.ini.state || die "a new algorithm is not measured"
expect 0 "$weft" tune all_reduce -P 2 -b 64K -e 64K -n 1 -t 0.0005 -O other.ini --fresh
expect 0 "$weft" tune all_reduce -P 2 -b 64K -e 64K -n 1 -t 0.0005 -O other.ini --variants
grep -q ',slices=' other.ini.state || die "no variant beside results without"
says err 'what was in other.ini.state is in other.ini.state.old'
grep -q '^all_reduce 65536 ' other.ini.state.old || die "the results without variants are lost"

# A rank whose clock is another one, 1,000 seconds ahead: times of calls with a
# root are from the clock of one rank to that of another.
if unshare -T --fork --monotonic 1000 true 2>unshare.err; then
    expect 0 "$weft" run -n 2 bash -c '[ "$WEFT_RANK" = 0 ] || apart="unshare -T --fork --monotonic 1000"
        exec $apart "$0" tune broadcast reduce -b 8 -e 8 -n 3 -t 0.0005 -O apart.ini' "$weft"
    awk '/^(broadcast|reduce) / { n++; wrong += !($4 > 0 && $4 < 1) } END { exit !(n >= 4 && wrong == 0) }' \
        apart.ini.state || die "times of two clocks: $(cat apart.ini.state)"
else
    echo "LEFT OUT: ranks with two clocks: no time namespaces here: $(cat unshare.err)"
fi

# Rules of a type that was asked for are for that type, where it matters.
expect 0 "$weft" tune all_reduce broadcast -P 2 -b 8 -e 8 -n 1 -t 0.0005 -d bf16 -O typed.ini
grep -q '^rule = all_reduce bytes=8..8 ranks=2 hosts=1 dtype=bfloat16: algo-' typed.ini || die "no rule of bfloat16"
grep -q '^rule = broadcast bytes=8..8 ranks=2 hosts=1: algo-' typed.ini || die "no rule of broadcast"
expect 0 "$weft" config --conf typed.ini

# The best algorithm in other slices: each is a candidate, and a rule that names slices is read back.
expect 0 "$weft" tune all_reduce -P 2 -b 64K -e 64K -n 3 -t 0.0005 --variants -O varied.ini
grep -q '^all_reduce 65536 algo-[a-z]*,slices=2,slice_bytes=16K ' varied.ini.state || die "no variant"
grep -c ',slices=' varied.ini.state | grep -qx 6 || die "variants of more than one algorithm"
# A point that was cut is measured again with all of its variants.
sed -i '/,slices=/q' varied.ini.state
expect 0 "$weft" tune all_reduce -P 2 -b 64K -e 64K -n 3 -t 0.0005 --variants -O varied.ini
says err 'varied.ini.state has 1 result already'
[ "$(grep -o '^all_reduce 65536 [^ ]*,slices=[^ ]*' varied.ini.state | sort -u | wc -l)" -ge 6 ] ||
    die "a part of a point was taken for all of it: $(cat varied.ini.state)"
sed -i '/^rule = /s/\( slices=.*\)\?$/ slices=2 slice_bytes=16K/' varied.ini
expect 0 "$weft" why all_reduce -P 2 -b 64K -e 64K --json --conf varied.ini
says out '"slices": 2,'
says out '"slice_bytes_from": 16384'

# Every rank answers alike, whatever the collective, and JSON says the same.
for collective in all_gather reduce_scatter reduce all_to_all scatter send_recv; do
    expect 0 "$weft" why "$collective" -P 3 -b 8 -e 64K
    says out '^# all 3 ranks answer alike'
done
# The model prices blocks of equal length only.
expect 0 "$weft" why all_to_all_v -P 2 -b 64 -e 64
says out '^ +64 B +64 B .* +- +- '
expect 0 "$weft" why all_to_all_v -P 2 -b 64 -e 64 --json
says out '"seconds_from": null'
expect 6 "$weft" tune barrier -P 2
says err 'an all_reduce of nothing'
expect 0 "$weft" why all_reduce -P 2 -b 1K -e 1K --json --set 'tuner.rule=any: algo-flat slices=1'
says out '"algorithm": "algo-flat"'
says out '"decided_by": "--set any: algo-flat slices=1"'

expect 0 "$weft" why all_reduce -P 2 -b 1K -e 1K --json -A algo-ring
says out '"algorithm": "algo-ring"'
# The ranks compare their answers although the one algorithm that is allowed has no all_gather.
expect 0 "$weft" why all_reduce -P 3 -b 1K -e 1K -A algo-tree
says out '^# all 3 ranks answer alike'
expect 3 "$weft" why all_reduce -P 2 -b 1K -e 1K -A algo-rnig
says err 'algo-rnig.*did you mean algo-ring'

# How slices travel, and where that changes.
expect 0 "$weft" why broadcast -P 2 -b 8 -e 64K --json
for protocol in header small slot; do
    says out "\"protocol\": \"$protocol\""
done

# Wrong rules and figures: the place and the nearest right word.
printf '[tuner]\nrule = all_redce: algo-ring\n' >wrong.ini
expect 3 "$weft" why all_reduce -P 2 --conf wrong.ini
says err 'wrong.ini:2: \[tuner\] rule: no collective is called "all_redce", did you mean all_reduce\?'
printf '[tuner]\nrule = all_reduce: algo-flat\nrule = all_reduce: algo-rng\n' >wrong.ini
expect 3 "$weft" why all_reduce -P 2 --conf wrong.ini
says err 'wrong.ini:3: .*algo-rng, did you mean algo-ring\?'
printf '[figures]\nedge = net-shm inside latncy=1us\n' >wrong.ini
expect 3 "$weft" why all_reduce -P 2 --conf wrong.ini
says err 'wrong.ini:2: \[figures\] edge: .*did you mean latency\?'

# A forced algorithm that cannot serve: what can.
expect 3 "$weft" why all_to_all -P 3 --set 'tuner.rule=any: algo-tree force'
says err 'algo-tree does not serve this all_to_all on 3 ranks; possible are algo-direct'

# Figures that were found are those of the model.
expect 0 "$weft" why all_reduce -P 3 -b 1M -e 1M --json
jq '.ranges[0].seconds_from' "$work/out" >free 2>/dev/null || echo skip >free
expect 0 "$weft" why all_reduce -P 3 -b 1M -e 1M --json --set figures.cores=0.01
jq '.ranges[0].seconds_from' "$work/out" >crowded 2>/dev/null || echo skip >crowded
[ "$(cat free)" = skip ] || awk 'NR == FNR { a = $1; next } { exit !($1 > 3 * a) }' free crowded ||
    die "a hundredth of a core costs $(cat crowded), all of them $(cat free)"

expect 6 "$weft" why
expect 6 "$weft" why all_redce
says err 'all_reduce'
expect 6 "$weft" tune
says err 'which collective'
expect 6 "$weft" tune all_reduce -P 2 -b 64 -e 8
says err 'larger than --maxbytes$'
expect 6 "$weft" tune all_to_all_v -P 2
says err 'cannot be tuned'
