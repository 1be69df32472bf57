#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_mistakes.sh KIND PART PARTS LEAST KIT: the kit of KIND names every mistake of tests/check and tests/kits
# that is PART modulo PARTS, of which there are LEAST in all, in few lines, and leaves no process behind.
. "$(dirname "$0")/../e2e/common.sh"
kind=$1 part=$2 parts=$3 least=$4 kit=$5
plugin=$work/$kind-wrong.so # a name that only this test has
ln -s "$build/lib/weft-test/$kind-wrong.so" "$plugin"
settings=()
cases=()
# Its parameter is there to fail.
[ "$kind" != algo ] || cases=(--case 'plans of')
[ -z "${CHECK_RIGHT:-}" ] || settings=("right=$build/lib/weft/$CHECK_RIGHT.so")

others=('')
[ "$kind" != net ] || others+=(short packets) # are no mistakes
skipped=
for other in "${others[@]}"; do
    [ "$part" = 1 ] || break
    timeout -k 5 250 "$kit" "${cases[@]}" "$plugin" "${settings[@]}" "wrong=$other" >"$work/all" 2>&1 ||
        { cat "$work/all"; die "the plugin without a mistake fails: '$other'"; }
    skips=$(grep -c '^SKIP' "$work/all")
    [ "$skips" -eq "${skipped:=$skips}" ] || { cat "$work/all"; die "'$other' skips other cases"; }
done
number=0 failed=0
while read -r mistake _; do
    case $mistake in '#'* | '') continue ;; esac
    number=$((number + 1))
    [ $((number % parts)) -eq $((part % parts)) ] || continue
    code=0
    timeout -k 5 250 "$kit" "$plugin" "${settings[@]}" "wrong=$mistake" >"$work/all" 2>&1 || code=$?
    lines=$(grep -c '^FAIL' "$work/all")
    named=$(grep '^FAIL' "$work/all" | grep -v 'the parameter fail is' | grep -cv 'no word')
    if [ $code -ne 1 ] || [ "$named" -eq 0 ]; then
        printf '%s: not named, exit code %s\n' "$mistake" "$code"
    elif [ "$lines" -gt 3 ]; then
        printf '%s: %s lines\n' "$mistake" "$lines"
    else
        continue
    fi
    failed=$((failed + 1))
    sed 's/^/    /' "$work/all"
done < <(cat "$source_dir"/tests/{check,kits}/mistakes_"$kind".txt)
[ $number -ge "$least" ] || die "$number mistakes, and at least $least were wanted"
[ $failed -eq 0 ] || die "$failed mistakes of $number are not named well"
# What was killed may need a moment to go.
for _ in $(seq 100); do
    pgrep -f "$plugin" >/dev/null || exit 0
    sleep 0.1
done
die "a process was left behind: $(pgrep -af "$plugin")"
