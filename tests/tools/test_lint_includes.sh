#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# scripts/lint-includes on made-up trees: each rule finds its violation, and a clean tree has none.
# Usage: test_lint_includes.sh LINT_INCLUDES
set -euo pipefail
lint=$1
if ! ctags --version 2>/dev/null | grep -q Universal; then
    echo "SKIPPED: no universal-ctags"
    exit 0
fi
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

# put FILE: standard input becomes a file of the tree.
put() {
    mkdir -p "$(dirname "$tree/$1")"
    cat >"$tree/$1"
}

# A tree without violations: api below core/low, that below core/high.
fresh() {
    rm -rf "${tree:?}"/*
    put docs/layers.md <<'END'
## Folders
| folders | may include | holds |
|---|---|---|
| `api` | nothing | x |
| `core/low` | below | x |
| `core/high` `core/side` | below | x |
| `plugins/*` | `api` | x |

## Files in a folder
| folder | header | files | why |
|---|---|---|---|
| `core/low` | `sum.h` | `sum_fast.c` | one per instruction set |

## Interfaces of a folder
| folder | headers | why |
|---|---|---|
END
    put api/weft.h <<<'int weft_api(void);'
    put core/low/a.h <<<'int weft_a(void);'
    put core/low/a.c <<<'#include "core/low/a.h"
struct a { int weft_b; };
int weft_a(void)
{
    struct a a = {.weft_b = 1};
    int weft_b = 2;
    return a.weft_b + weft_b;
}'
    put core/low/b.h <<<'#include <api/weft.h>
int weft_b(int);'
    put core/low/b.c <<<'#include "core/low/b.h"
#include "core/low/a.h"
/* #include "core/high/top.h" */
struct b { int weft_a; };
static const char *text = "#include weft_top()";
int weft_b(int number) { return weft_a() + number + text[0]; }'
    put core/low/sum.h <<<'int weft_sum(void); int weft_sum_fast(void);'
    put core/low/sum.c <<<'#include "core/low/sum.h"
int weft_sum(void) { return weft_sum_fast(); }'
    put core/low/sum_fast.c <<<'#include "core/low/sum.h"
int weft_sum_fast(void) { return 2; }'
    put core/high/top.h <<<'int weft_top(void);'
    put core/high/top.c <<<'#include "core/high/top.h"
#include "core/low/b.h"
int weft_top(void) { return weft_b(2); }
int weft_api(void) { return weft_top(); }'
    put core/side/side.h <<<'int weft_side(void);'
    put plugins/one/one.c <<<'#include <api/weft.h>
static int weft_a(void) { return 0; }
int weft_plugin(void) { return weft_a(); }'
}

# expect NAME PATTERN: lint finds one violation, and its text has the pattern.
expect() {
    local name=$1 pattern=$2 said code=0
    said=$("$lint" --root "$tree" 2>&1) || code=$?
    if [ "$code" -eq 1 ] && grep -qE "$pattern" <<<"$said" && [ "$(grep -c '^[^ ]' <<<"$said")" -eq 1 ]; then
        echo "ok: $name"
    else
        printf 'FAILED: %s: exit code %d, said:\n%s\n' "$name" "$code" "$said"
        failed=1
    fi
}

fresh
if said=$("$lint" --root "$tree" 2>&1) && [ -z "$said" ]; then
    echo "ok: a clean tree"
else
    printf 'FAILED: a clean tree:\n%s\n' "$said"
    failed=1
fi

put core/low/a.c <<<'#include "core/low/a.h"
#include "core/high/top.h"
int weft_a(void) { return 1; }'
expect "an upward include" '^core/low/a.c:2: layer: core/low may not include core/high/top.h'

fresh
put core/high/top.c <<<'#include "core/side/side.h"
int weft_top(void) { return 0; }'
expect "an include of a folder beside" '^core/high/top.c:1: layer: .* core/side/side.h'

fresh
put plugins/one/one.c <<<'#include "core/low/a.h"
int weft_plugin(void) { return weft_a(); }'
expect "a plugin that includes the core" '^plugins/one/one.c:1: layer: '

fresh
put core/new/new.h <<<'int weft_new(void);'
expect "a folder that is not on the list" '^core/new/new.h: in no folder'

fresh
put core/low/b.h <<<'#include "core/low/c.h"
int weft_b(int);'
put core/low/c.h <<<'#include "core/low/d.h"
int weft_c(int);'
put core/low/d.h <<<'#include "core/low/c.h"
int weft_d(int);'
rm "$tree"/core/low/b.c "$tree"/core/high/top.c
said=$("$lint" --root "$tree" 2>&1) || true
if grep -qF 'core/low: cycle of 2 headers: core/low/c.h core/low/d.h' <<<"$said" &&
    grep -qF 'core/low: cycle of 2 modules: c d' <<<"$said"; then
    echo "ok: headers that include each other"
else
    printf 'FAILED: headers that include each other:\n%s\n' "$said"
    failed=1
fi

fresh
put core/low/a.c <<<'#include "core/low/a.h"
#include "core/low/b.h"
int weft_a(void) { return weft_b(1); }'
expect "files that include each other's headers" '^core/low: cycle of 2 modules: a b$'

# An umbrella header hides the include; the call is seen.
fresh
put core/low/b.c <<<'#include "core/low/all.h"
int weft_b(int number) { return weft_a() + number; }'
put core/low/a.c <<<'#include "core/low/all.h"
int weft_a(void) { return weft_b(1); }'
put core/low/all.h <<<'#include "core/low/a.h"
#include "core/low/b.h"'
expect "files that call each other" '^core/low: cycle of 3 modules: a all b$'

fresh
put core/low/a.h <<<'int weft_a(void);
extern const int weft_table;'
put core/low/table.c <<<'#include "core/low/a.h"
const int weft_table = 3;'
expect "a header that declares another file's table" '^core/low/a.h:2: declared elsewhere: weft_table .* core/low/table.c'

fresh
put core/high/top.h <<<'int weft_top(void);
int weft_a(void);'
expect "a header that declares another folder's function" '^core/high/top.h:2: declared elsewhere: weft_a '

fresh
put core/low/b.c <<<'int weft_a(void);
int weft_b(int number) { return weft_a() + number; }'
expect "a source that declares another file's function" '^core/low/b.c:1: declared elsewhere: weft_a '

fresh
sed -i 's/^| `core\/low` | `sum.h`.*//' "$tree"/docs/layers.md
said=$("$lint" --root "$tree" 2>&1) || true
if grep -q 'sum.h:1: declared elsewhere: weft_sum_fast' <<<"$said" && grep -q 'cycle of 2 modules: sum sum_fast' <<<"$said"; then
    echo "ok: an interface with two files that is not on the list"
else
    printf 'FAILED: an interface with two files that is not on the list:\n%s\n' "$said"
    failed=1
fi

fresh
echo '| `core/low` | `a.h` | it once declared more |' >>"$tree"/docs/layers.md
expect "an exception that nobody needs" '^core/low/a.h: declares functions of its own file only'

fresh
order=$("$lint" --root "$tree" --order core/low | awk '{ print $2 }' | tr '\n' ' ')
if [ "$order" = "a sum b " ]; then
    echo "ok: the order of a folder"
else
    echo "FAILED: the order of a folder: $order"
    failed=1
fi
exit $failed
