# SPDX-License-Identifier: BSD-3-Clause
# What plans cost between devices: `weft plan` and `weft sim --path` beside `weft why`, and rules that name a
# protocol. Over the CUDA runtime of threads.
. "$(dirname "$0")/common.sh"

fake=$build/lib/weft-test/kernel-cuda-fake.so
[ -e "$fake" ] || skip "no CUDA headers, kernel-cuda-fake is not built"
cuda=(--set core.kernel=kernel-cuda --set kernel-cuda.path="$fake" --set core.net=net-shm)

# field FILE KEY: the first value of a key of JSON
field() { sed -n "s/.*\"$2\": \"\{0,1\}\([^,\"]*\).*/\1/p" "$work/$1" | head -n 1; }

# The price of a plan is that of a job, which adds the 0.15 us that two links cost each call: 8 bytes, which fit
# a header.
expect 0 "$weft" why all_reduce -P 2 -b 8 -e 8 -A algo-ring --json "${cuda[@]}"
wanted=$(field out seconds_from)
[ "$(field out protocol)" = header ] || die "8 bytes do not travel in a header"
expect 0 "$weft" plan all_reduce -n 2 -A algo-ring -b 8 -e 8 --check --json --path same "${cuda[@]}"
[ "$(sed -n 's/.*"protocol": "\(.*\)".*/\1/p' "$work/out" | tail -n 1)" = header ] || die "no header"
price=$(sed -n 's/.*"seconds": \([0-9.e+-]*\).*/\1/p' "$work/out" | tail -n 1)
awk -v a="$price" -v b="$wanted" 'BEGIN { exit !(a > 0 && (b - a - 0.15e-6) ^ 2 < (0.001 * b) ^ 2) }' ||
    die "weft plan says $price s, weft why $wanted s"

# The words are those of weft why.
expect 0 "$weft" plan all_reduce -n 4 -A algo-ring --cost -b 8 -e 16M -f 8 --path same "${cuda[@]}"
says out '^prices +inside a host: kernel-cuda same, 24 us a message, 13 us a further one, 57 GB/s'
says out '^ +ll, up to 8 KiB: 3\.6 us a message, 2\.5 us a further one, 6 GB/s$'
says out '^ +ll128, up to 64 KiB: '
says out '^ +8 B .* on 1 by header$'
says out '^ +4 KiB .* by ll128$'
says out '^ +256 KiB .* on [0-9]+ by ll128$'
says out '^ +16 MiB .* on [0-9]+ by simple$'
expect 0 "$weft" plan all_reduce -n 4 -A algo-ring --cost -b 4K -e 4K --path bus "${cuda[@]}"
says out 'kernel-cuda bus, 26 us a message'
! grep -q ll128 "$work/out" || die "lines on a bus"
expect 0 "$weft" plan all_reduce -n 4 -A algo-ring --cost -b 4K -e 4K --path host "${cuda[@]}"
says out ' by simple$'

# Whole runs, where the plan lets the ranks meet.
expect 0 "$weft" plan all_reduce -n 4 -A algo-flat --cost -b 16M -e 16M --path direct --windows "${cuda[@]}"
says out ' by whole$'
expect 0 "$weft" plan all_reduce -n 4 -A algo-ring --cost -b 16M -e 16M --path direct --windows "${cuda[@]}"
! grep -q ' by whole$' "$work/out" || die "ranks of a ring do not meet"

# Settings of the kernel and lines of [figures] hold.
expect 0 "$weft" plan all_reduce -n 4 -A algo-ring --cost -b 4K -e 4K --path same "${cuda[@]}" \
    --set kernel-cuda.protocol=simple --set "figures.edge=kernel-cuda same latency=77us"
says out 'same, 77 us a message'
says out ' by simple$'
expect 0 "$weft" plan all_reduce -n 4 --compare algo-ring algo-flat -b 8 -e 1M --path direct "${cuda[@]}"
says out '^prices +inside a host: kernel-cuda direct'

# What has no figures, and what goes with nothing.
expect 3 "$weft" plan all_reduce -n 4 -A algo-ring --cost --path same --set core.kernel=kernel-cpu
says err '--path same: kernel-cpu says nothing of edges between devices'
expect 0 "$weft" plan all_reduce -n 4 -A algo-ring --cost -b 8 -e 8 --path same --set core.kernel=kernel-cpu \
    --set "figures.edge=kernel-cpu same latency=3us bandwidth=25GB/s"
says out 'kernel-cpu same, 3 us'
expect 6 "$weft" plan all_reduce -n 4 --path drect
says err 'did you mean direct'
expect 3 "$weft" plan all_reduce -n 4 -A algo-ring --cost --windows
says err '--windows is for devices'
expect 3 "$weft" plan all_reduce -n 4 -A algo-ring --cost --path same --alpha 5us "${cuda[@]}"
says err '--alpha, --overhead and --beta are of transports'

# weft sim: a column each for channels and protocol; between hosts the transport's edges.
expect 0 "$weft" sim all_reduce -A algo-ring,algo-flat -n 8 --per-host 8 -b 64 -e 4M --path direct --csv "${cuda[@]}"
says out '^collective,.*,fastest,channels,protocol$'
says out '^all_reduce,8,64,.*,1,1,ll128$'
says out ',1,15,ll128$'
expect 0 "$weft" sim all_reduce -A algo-flat -n 4 --per-host 4 -b 8M -e 8M --path direct --windows "${cuda[@]}"
says out 'channels  protocol'
says out ' whole '
expect 0 "$weft" sim all_reduce -A algo-ring -n 8 --per-host 4 -b 4K -e 4K --path direct --alpha 9us "${cuda[@]}"
says out '^# inside a host: kernel-cuda direct'
says out '^# alpha 9 us'
expect 6 "$weft" sim all_reduce -n 8 --path direct "${cuda[@]}"
says err 'add --per-host N'

# Without a device the kernel presumes one.
if [ -e "$build/lib/weft/kernel-cuda.so" ] && ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
    expect 0 "$weft" plan all_reduce -n 4 -A algo-ring --cost -b 4K -e 4K --path direct --set core.kernel=kernel-cuda
    says out 'kernel-cuda direct, 24\.5 us .*; presumed, no device was asked$'
    says out ' by ll128$'
fi

# Rules: weft why says which one decided.
for protocol in ll ll128 simple; do
    expect 0 "$weft" why all_reduce -P 2 -b 64K -e 64K --json "${cuda[@]}" \
        --set "tuner.rule=any: algo-ring protocol=$protocol"
    [ "$(field out protocol)" = $protocol ] || die "not by $protocol"
    says out "\"decided_by\": \"--set any: algo-ring protocol=$protocol\""
done
expect 0 "$weft" why all_reduce -P 2 -b 16 -e 16 --json "${cuda[@]}" --set "tuner.rule=any: algo-ring protocol=simple"
[ "$(field out protocol)" = header ] || die "what fits a header is in it"
# A setting of a rank's kernel is stronger: the protocol is not there, and the rule is passed over.
forced=(--set kernel-cuda.protocol=simple)
expect 0 "$weft" why all_reduce -P 2 -b 64K -e 64K --json "${cuda[@]}" "${forced[@]}" --set "tuner.rule=any: algo-ring protocol=ll128"
[ "$(field out protocol)" = simple ] || die "not by simple"
says out '"decided_by": "model"'
expect 3 "$weft" why all_reduce -P 2 -b 64K -e 64K "${cuda[@]}" "${forced[@]}" --set "tuner.rule=any: algo-ring protocol=ll128 force"
says err 'protocol ll128 does not serve this all_reduce of 65536 bytes on 2 ranks; possible are simple'
expect 3 "$weft" why all_reduce -P 2 --set "tuner.rule=any: algo-ring protocol=ll force"
says err 'protocol ll does not serve .*possible are simple'
expect 3 "$weft" why all_reduce -P 2 --set "tuner.rule=any: algo-ring protocol=nvls"
says err 'unknown value "nvls"; there are simple, ll, ll128, whole|did you mean'
