# SPDX-License-Identifier: BSD-3-Clause
# Collectives over net-nccl: over the tests' network plugin, found by its path and by its short name, in
# processes and threads; and over libnccl-net-weft.so, which is weft over NCCL's interface over weft.
. "$(dirname "$0")/../e2e/common.sh"

# perf COLLECTIVE LIBRARY OPTIONS…
perf() {
    local collective=$1 library=$2
    shift 2
    expect 0 "$weft" perf "$collective" -b 8 -e 1M -f 32 -n 3 -w 1 --set core.net=net-nccl \
        --set net-nccl.library="$library" --set core.check=yes "$@"
    all_right 4
}

for version in 6 8 10 12; do
    perf all_reduce "$build/lib/weft-test/libnccl-net-foreign$version.so" -P 2
done
LD_LIBRARY_PATH=$build/lib/weft-test perf all_gather foreign9 -P 3
perf alltoall "$build/lib/weft-test/libnccl-net-foreign7.so" -t 3

# Receives are under way when a rank leaves: no message that it sent is lost.
for i in 1 2 3; do
    FOREIGN_EAGER=1 perf all_reduce "$build/lib/weft-test/libnccl-net-foreign8.so" -P 3
done

expect 0 "$weft" info --set core.net=net-nccl \
    --set net-nccl.library="$build/lib/weft-test/libnccl-net-foreign12.so"
says out 'libnccl-net-foreign12.so \(foreign\), ncclNetPlugin_v12'

ours=$build/lib/libnccl-net-weft.so
[ -e "$ours" ] || skip "libnccl-net-weft.so is not built"
perf all_reduce "$ours" -P 2
perf reduce_scatter "$ours" -P 3
perf all_reduce "$ours" -t 2

# The kit over it, but for the case of few descriptors: a connect() that is given up keeps its own, for
# NCCL's interface has no call to end it.
for cases in contract connect message peer close sizes cancel lives; do
    expect 0 "$build/bin/weft-conformance-net" --messages 1000 --case "$cases" \
        "$build/lib/weft/net-nccl.so" library="$ours"
    says out '[1-9][0-9]* held, [0-9]+ skipped, 0 failed'
done
