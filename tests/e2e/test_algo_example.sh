# SPDX-License-Identifier: BSD-3-Clause
# docs/writing-an-algorithm.md, followed literally in an empty folder against an installed weft: its
# files are the example, its commands work, and what it says they print is what they print.
. "$(dirname "$0")/common.sh"
[ -z "${E2E_SANITIZE:-}" ] || skip "a sanitized core needs a sanitized plugin"

page=$source_dir/docs/writing-an-algorithm.md
example=$source_dir/examples/algo-doubling

# blocks LANGUAGE [NUMBER]: the fenced blocks of that kind, or one of them.
blocks() {
    awk -v start="\`\`\`$1" -v only="${2:-0}" '
        /^```/ {
            open = !open
            inside = open && $0 == start
            count += inside
            next
        }
        inside && (!only || count == only)' "$page"
}

lines=$(wc -l <"$example/algo_doubling.c")
[ "$lines" -le 120 ] || die "the example has $lines lines"
blocks c 1 | diff - "$example/algo_doubling.c" || die "the page and the example differ"
blocks cmake | diff - "$example/CMakeLists.txt" || die "the page and the example differ"

expect 0 cmake --install "$build" --prefix "$HOME/weft"
mkdir "$work/empty"
# The files are written where the page says so: in the new folder, before the first build.
{
    printf 'set -x\ncd %q\n' "$work/empty"
    blocks sh 1
    printf 'cp %q/* .\n' "$example"
    blocks sh | awk -v skip="$(blocks sh 1 | wc -l)" 'NR > skip'
} >"$work/follow.sh"
timeout -k 5 100 bash "$work/follow.sh" >"$work/out" 2>"$work/err" || die "the commands of the page failed"

folder=$work/empty/algo-doubling
[ "$(grep -cE '^(verdict|in place) +ok$' "$work/out")" -eq 18 ] || die "not all plans are proved"
[ "$(grep -c '^# Out of bounds values : 0 OK$' "$work/out")" -eq 2 ] || die "wrong results"
grep -q '^digraph' "$folder/plan.dot" || die "no drawing for Graphviz"
grep -q '<svg' "$folder/plan.svg" || die "no drawing"
# Each result that the page shows.
blocks "" | grep -vE '^$|^…$|^all_reduce by' | sed 's/, fingerprint .*//' >"$work/shown"
[ "$(wc -l <"$work/shown")" -ge 20 ] || die "the page shows no results"
sed 's/, fingerprint .*//' "$work/out" >"$work/printed"
while IFS= read -r line; do
    grep -qxF -- "$line" "$work/printed" ||
        die "the page shows what is not printed: $line"
done <"$work/shown"

# With the warnings of weft's own code, and through pkg-config.
pc=$(dirname "$(find "$HOME/weft" -name weft-sdk.pc)")
flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags weft-sdk) || die "pkg-config weft-sdk"
# shellcheck disable=SC2086
expect 0 cc -std=c11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wconversion -Werror -shared -fPIC \
    -fvisibility=hidden "$example/algo_doubling.c" -o "$work/by-pc.so" $flags

# What it does not serve it refuses with words.
expect 3 "$HOME/weft/bin/weft" plan broadcast -n 4 -A algo-doubling --conf "$folder/weft.ini"
says err 'algo-doubling has no plan for broadcast; it has plans for all_reduce'
