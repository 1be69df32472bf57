#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/instructions on made-up counts: 5 % more fails and says how to renew, less does not.
# Usage: test_instructions.sh INSTRUCTIONS
set -euo pipefail
guard=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/reference" <<'END'
# comment
here call-a 1000
here call-b 2000
elsewhere call-a 1
END

# compare CODE KEY COUNTS…: exit code, and what it says in $work/out
compare() {
    local want=$1 key=$2 code=0
    shift 2
    printf '%s\n' "$@" >"$work/counts"
    "$guard" --reference "$work/reference" --key "$key" --compare "$work/counts" >"$work/out" 2>&1 || code=$?
    [ $code -eq "$want" ] || { printf 'FAILED: exit code %d, expected %d\n' $code "$want"; cat "$work/out"; exit 1; }
}
says() { grep -q -- "$1" "$work/out" || { printf 'FAILED: it does not say "%s"\n' "$1"; cat "$work/out"; exit 1; }; }

compare 0 here 'call-a 1049' 'call-b 2000'
says '+4.9 %'
compare 1 here 'call-a 1000' 'call-b 2102'
says 'FAILED call-b'
says -- '--renew'
compare 0 here 'call-a 900' 'call-b 2000'
says 'cheaper'
compare 1 here 'call-c 5'
says 'the reference has none'
compare 0 nowhere 'call-a 1000'
says 'SKIPPED: instructions: no reference for nowhere'
echo "instructions: all right"
