#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# scripts/lint-sizes on a made-up tree: each limit of docs/style.md finds what exceeds it, and nothing else.
# Usage: test_lint_sizes.sh LINT_SIZES
set -euo pipefail
lint=$1
if ! ctags --version 2>/dev/null | grep -q Universal; then
    echo "SKIPPED: no universal-ctags"
    exit 0
fi
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{docs,api,core/low,core/high,plugins/one,tools,tests/one}
cat >"$tree/docs/style.md" <<'END'
| `file-lines` | 12 | x |
| `function-lines` | 5 | x |
| `function-lines-p95` | 4 | x |
| `parameters` | 2 | x |
| `struct-fields` | 3 | x |
| `columns` | 70 | x |
END
cat >"$tree/core/low/good.h" <<'END'
struct good { int a, b, c; };
static int plain(int a, int b)
{
    return a + b;
}
END
# Columns are characters, not bytes.
printf '/* %s */\n' '················' >"$tree/core/low/wide.h"
said=$("$lint" --root "$tree") || { printf 'FAILED: a clean tree:\n%s\n' "$said"; exit 1; }

printf '\n%.0s' {1..13} >"$tree/core/low/long.c"
cp "$tree/core/low/long.c" "$tree/tests/one/test_long.c"
printf 'int long_one(void)\n{\n\n\n\n    return 1;\n}\n' >"$tree/plugins/one/function.c"
echo 'int many(int a, int (*b)(int, int), int c);
int many(int a, int (*b)(int, int), int c) { return a + b(c, c); }
int two(int (*a)(int, int, int), int b) { return a(b, b, b); }' >"$tree/tools/many.c"
echo 'struct big { int a; int b, c; char d[4]; };' >"$tree/core/high/big.h"
printf '/* %068d */\n' 0 | tee "$tree/core/low/columns.h" >"$tree/tests/one/columns.c"
printf 'struct pushed {\n    uint32_t\n        log_level; /* too long */\n};\n' >"$tree/api/pushed.h"
touch "$tree/core/low/same.c" "$tree/plugins/one/same.c"
said=$("$lint" --root "$tree") && { echo "FAILED: no violation found"; exit 1; }
failed=0
while read -r pattern; do
    if [ "$(grep -c "$pattern" <<<"$said")" -ne 1 ]; then
        echo "FAILED: no line, or several, with: $pattern"
        failed=1
    fi
done <<'END'
^core/low/long.c:13: file of 13 lines, limit 12
^tests/one/test_long.c:13: file of 13 lines, limit 12
^plugins/one/function.c:1: long_one has 7 lines, limit 5
^plugins: 95 % of the functions have up to 7 lines, limit 4
^tools/many.c:2: many has 3 parameters, limit 2
^core/high/big.h:1: big has 4 fields, limit 3
^core/low/columns.h:1: line of 74 columns, limit 70
^tests/one/columns.c:1: line of 74 columns, limit 70
^api/pushed.h:3: the field's name stands on another line than its type
^core/low/same.c: another file has this name: plugins/one/same.c
^plugins/one/same.c: another file has this name: core/low/same.c
END
if [ "$(wc -l <<<"$said")" -ne 11 ]; then
    echo "FAILED: lines that nobody asked for"
    failed=1
fi
[ $failed -eq 0 ] && echo "ok" || printf '%s\n' "$said"
exit $failed
