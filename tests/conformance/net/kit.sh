#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# kit.sh KIT PLUGIN WRONG: the kit's own command line, mistakes of net-wrong that no call shows, and what a kit
# leaves behind that is killed.
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
out=$("$kit" --measure "$wrong" wrong=create-exit 2>&1) && die "--measure of a plugin that calls exit() ends well"
grep -q 'before it had measured' <<<"$out" || die "--measure of a plugin that calls exit(): $out"
# The peer of this case would wait for ever: it is told that the case is still there.
mine=$(mktemp -d)
trap 'rm -rf "$mine"' EXIT
ln -s "$wrong" "$mine/net-wrong.so"
"$kit" --messages 100 --case 'processes echo' "$mine/net-wrong.so" wrong=check-blind >/dev/null &
for _ in $(seq 100); do
    [ "$(pgrep -fc "$mine")" -lt 3 ] || break
    sleep 0.1
done
sleep 1 # the messages are through
kill -9 $! || die "the case with a peer that waits for ever has ended"
for _ in $(seq 50); do
    pgrep -f "$mine" >/dev/null || break
    sleep 0.1
done
left=$(pgrep -f "$mine" | tr '\n' ' ')
# shellcheck disable=SC2086
[ -z "$left" ] || { kill -9 $left; die "a killed kit left processes behind: $left"; }
"$kit" --nonsense >/dev/null 2>&1 && die "a wrong option is taken"
exit 0
