# SPDX-License-Identifier: BSD-3-Clause
# Two builds of one version from different sources: their ranks are told so when they join, and not by a frame
# that one of them cannot read.
. "$(dirname "$0")/common.sh"

expect 0 "$weft" info
stamped=$(sed -n 's/^weft \([0-9.]*+[0-9a-f]\{12\}\)$/\1/p' "$work/out")
[ -n "$stamped" ] || die "weft info does not show the build"
port=$((20000 + $$ % 10000))
# Another build: a copy with another stamp, which is the same text everywhere.
other=${stamped%????????????}0123456789ab
sed "s/$stamped/$other/g" "$weft" >"$work/weft"
chmod +x "$work/weft"
export WEFT_CORE_PLUGIN_DIR=$build/lib/weft
expect 0 "$work/weft" info
says out "^weft ${other//+/[+]}\$"

WEFT_UNIQUE_ID=$("$weft" id --at "localhost:$port") || die "no id"
export WEFT_UNIQUE_ID WEFT_NRANKS=2
WEFT_RANK=1 timeout -k 5 60 "$work/weft" perf barrier -n 1 >"$work/out1" 2>&1 &
expect 3 env WEFT_RANK=0 "$weft" perf barrier -n 1
wait $! && die "rank 1 has joined"
for said in err out1; do
    says $said "ERR_MISMATCH: the ranks differ in the build of libweft: rank 1 of .* has \"${other//+/[+]}\", rank 0 of"
done
