#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# kit.sh KIT PLUGIN WRONG: the kit's own command line, and a mistake that no call shows, of net-wrong.
set -u
kit=$1 plugin=$2 wrong=$3
die() {
    printf 'FAILED: %s\n' "$*"
    exit 1
}
[ "$("$kit" --list | wc -l)" -ge 30 ] || die "--list prints too little"
"$kit" --list | grep -q 'messages keep their order' || die "--list lacks a case"
out=$("$kit" --case 'keep their order' "$plugin") || die "one case: $out"
[ "$(grep -c '^ok' <<<"$out")" -eq 1 ] || die "not one case: $out"
out=$("$kit" --case 'nobody calls it so' "$plugin" 2>&1) && die "an unknown case is run"
grep -q 'no case has' <<<"$out" || die "an unknown case: $out"
out=$("$kit" "$plugin" nonsense=1 2>&1) && die "a wrong setting is taken"
[ "$(wc -l <<<"$out")" -eq 1 ] || die "a wrong setting gives more than one line: $out"
out=$("$kit" --measure "$plugin") || die "--measure: $out"
[ "$(grep -cE '^(latency|overhead|bandwidth|slot_bytes|slots) ' <<<"$out")" -eq 5 ] || die "--measure: $out"
if ldd "$kit" | grep -q 'libc\.so\.6' && ! ldd "$kit" | grep -qE 'libasan|libtsan'; then # malloc() of glibc
    out=$("$kit" --case 'repeated lives' "$wrong" wrong=create-malloc 2>&1) && die "a leak past the host is not seen"
    grep -q 'lives leave .* bytes of malloc()' <<<"$out" || die "a leak past the host: $out"
    out=$("$kit" --case 'repeated lives' "$wrong" 2>&1) || die "no leak, but: $out"
fi
"$kit" --nonsense >/dev/null 2>&1 && die "a wrong option is taken"
exit 0
