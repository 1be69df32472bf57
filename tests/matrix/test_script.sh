# SPDX-License-Identifier: BSD-3-Clause
# scripts/fault-matrix writes what was run into the page, and leaves it as it is if that was no run.
. "$(dirname "$0")/../e2e/common.sh"
tree=$work/tree
mkdir -p "$tree/scripts" "$tree/docs" "$work/build/bin" "$work/path"
cp "$source_dir/scripts/fault-matrix" "$tree/scripts/"
cp "$source_dir/docs/reliability.md" "$tree/docs/"
cp "$tree/docs/reliability.md" "$work/before.md"
# The program is the real one, but for the cells of the moment "leave": what a run of them finds is made up.
cat >"$work/build/bin/fault-matrix" <<EOF
#!/bin/sh
case "\$*" in
run*"host gone"*transport=shm*) exit 2 ;;
run*moment=leave*) ;;
*) exec "$build/bin/fault-matrix" "\$@" ;;
esac
echo '{"fault":"killed","transport":"shm","moment":"leave","trials":1,"red":0,"median_ms":77.0,' \
    '"worst_ms":77.0,"again_ms":0,"on":3,"status":"","why":""}'
exit "\${FOUND:-0}"
EOF
printf '#!/bin/sh\ncd "%s" && exec "%s" "$@"\n' "$build" "$(command -v ctest)" >"$work/path/ctest"
chmod +x "$work/build/bin/fault-matrix" "$work/path/ctest"
export PATH=$work/path:$PATH

matrix() { # matrix CODE ARGUMENTS…
    expect "$1" python3 -B "$tree/scripts/fault-matrix" --build "$work/build" "${@:2}"
}
refused() {
    matrix "$@"
    cmp -s "$work/before.md" "$tree/docs/reliability.md" || die "the page was changed: $*"
}
refused 2 fault=kiled
says err 'fault=kiled: no such name, did you mean killed'
# A fault that has no cell over this transport.
refused 1 'fault=host gone' transport=shm
says err 'none of these cells is run here'
# The program has been killed.
FOUND=137 refused 1 fault=killed transport=shm moment=leave
says err 'ended with 137; the page is as it was'

# Cells that were not run keep what the page says, and so does the most of their trials.
matrix 0 --trials 1 fault=killed transport=shm moment=leave
page=$tree/docs/reliability.md
grep -q '^| killed | shm | .* | 77 ms |$' "$page" || die "the page has no new cell"
grep -q 'at most 3 trials of a cell\.$' "$page" || die "the page says that all cells had fewer trials"
[ "$(diff "$work/before.md" "$page" | grep -c '^>')" -le 2 ] || die "other lines of the page were changed"
# A transport that has none of the cells does not end the run of another's.
matrix 0 'fault=host gone' moment=leave
exit 0
