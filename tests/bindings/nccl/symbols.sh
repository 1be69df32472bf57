#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The library exports every name that NCCL has and that programs are known to need, each with its twin, and
# nothing else. docs/nccl.md has a row for each.
. "$(dirname "$0")/../../e2e/common.sh"
library=$build/lib/weft/nccl/libnccl.so.2
[ -e "$library" ] || die "$library: not there"
readelf -d "$library" | grep -q 'SONAME.*\[libnccl.so.2\]' || die "the name in the library is not libnccl.so.2"
nm -D --defined-only "$library" | awk '{ print $NF }' | sort -u >"$work/has"

for list in "$(dirname "$0")"/symbols/*.txt; do
    grep -v '^#' "$list" | sort -u >"$work/wants"
    [ -s "$work/wants" ] || die "$list: no names"
    missing=$(comm -23 "$work/wants" "$work/has" | tr '\n' ' ')
    [ -z "$missing" ] || die "$(basename "$list") needs $missing"
done
grep -v '^#' "$(dirname "$0")/symbols/nccl.txt" | sort -u >"$work/wants"
more=$(comm -13 "$work/wants" "$work/has" | tr '\n' ' ')
[ -z "$more" ] || die "exported, but not in nccl.txt: $more"
for name in $(grep '^nccl' "$work/has"); do
    grep -qx "p$name" "$work/has" || die "$name has no twin p$name"
    grep -q "\`$name\`" "$source_dir/docs/nccl.md" || die "docs/nccl.md does not say what $name does"
done
