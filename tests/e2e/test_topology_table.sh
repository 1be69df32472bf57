# SPDX-License-Identifier: BSD-3-Clause
# The table of docs/topology.md says what the program says.
. "$(dirname "$0")/common.sh"
[ -x "$build/bin/weft-topo" ] || skip "weft-topo was not built, hwloc was not found"
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"
expect 0 "$source_dir/scripts/topology-table" --check "$build"
# A table that is not current is found.
mkdir -p "$work/tree/scripts" "$work/tree/docs" "$work/tree/tests/unit/core/topo"
cp "$source_dir/scripts/topology-table" "$source_dir/scripts/lib.sh" "$work/tree/scripts/"
cp -r "$source_dir/tests/unit/core/topo/machines" "$work/tree/tests/unit/core/topo/"
sed 's/400\.000/401.000/' "$source_dir/docs/topology.md" >"$work/tree/docs/topology.md"
expect 1 "$work/tree/scripts/topology-table" --check "$build"
says err 'is not current: run scripts/topology-table'
# Wrong arguments, and a program that fails, leave the page as it is.
cp "$work/tree/docs/topology.md" "$work/before.md"
refused() {
    expect 1 "$work/tree/scripts/topology-table" "$@"
    cmp -s "$work/before.md" "$work/tree/docs/topology.md" || die "the page was changed: $*"
}
refused "$work/WRONG"
says err 'there is no program .*/WRONG/bin/weft'
refused --chek
says err 'unknown option --chek; usage: topology-table'
mkdir -p "$work/broken/bin"
ln -s /bin/false "$work/broken/bin/weft"
refused "$work/broken"
exit 0
