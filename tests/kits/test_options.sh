#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test_options.sh KIT PLUGIN: the command line that all kits share.
set -u
kit=$1 plugin=$2
die() {
    printf 'FAILED: %s\n' "$*"
    exit 1
}
[ "$("$kit" --list | wc -l)" -ge 5 ] || die "--list prints too little"
out=$("$kit" --case 'equal prices' "$plugin") || die "one case: $out"
[ "$(grep -c '^ok' <<<"$out")" -eq 1 ] || die "not one case: $out"
out=$("$kit" "$plugin" --case 'equal prices') || die "an option behind the plugin: $out"
[ "$(grep -c '^ok' <<<"$out")" -eq 1 ] || die "an option behind the plugin: $out"
out=$("$kit" --case 'nobody calls it so' "$plugin" 2>&1) && die "an unknown case is run"
grep -q 'no case has' <<<"$out" || die "an unknown case: $out"
out=$("$kit" --seed 7 --json "$plugin") || die "--json: $out"
python3 -c '
import json, sys
it = json.loads(sys.argv[1])
assert it["seed"] == 7 and it["failed"] == 0 and it["held"] == len(it["cases"]) - it["skipped"], it
' "$out" || die "--json: $out"
out=$("$kit" --json /dev/null)
[ $? -eq 1 ] || die "no plugin: $out"
python3 -c 'import json, sys; assert json.loads(sys.argv[1])["failed"] == 1' "$out" || die "no plugin: $out"
out=$("$kit" "$plugin" nonsense=1 2>&1) && die "a wrong setting is taken"
[ "$(wc -l <<<"$out")" -eq 1 ] || die "a wrong setting gives more than one line: $out"
for option in --nonsense '--seed x' '--messages 500'; do
    # shellcheck disable=SC2086
    "$kit" $option "$plugin" >/dev/null 2>&1 && die "$option is taken"
done
# Two instances that are one: the layer names it, whatever the order in which they end.
out=$("$kit" --case 'side by side' "${plugin%/weft/*}/weft-test/tuner-wrong.so" right="$plugin" wrong=create-shared) &&
    die "a shared instance is taken: $out"
grep -q 'create: it returned the object of an instance that lives; the contract says: instances share nothing' \
    <<<"$out" || die "a shared instance: $out"
exit 0
