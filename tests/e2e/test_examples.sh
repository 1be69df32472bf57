# SPDX-License-Identifier: BSD-3-Clause
# The programs of examples/tour, built against an installed weft and run by weft run, as
# examples/README.md says.
. "$(dirname "$0")/common.sh"
[ -z "${E2E_SANITIZE:-}" ] || skip "a sanitized library needs a sanitized example"

expect 0 cmake --install "$build" --prefix "$work/weft"
export PATH=$work/weft/bin:$PATH HOME=$work CFLAGS="-Wall -Wextra -Wconversion -Werror"
cd "$source_dir" || exit 1
# The guide builds below build/, which is not ours.
sed -n '/^<!-- examples -->$/,/^<!-- end -->$/p' examples/README.md | grep -v -e '^```' -e '^<!--' |
    sed "s|build/tour|$work/tour|g" >"$work/commands"
grep -q 'weft run' "$work/commands" || die "examples/README.md has no commands"
# line WORDS…: the command of the guide that has them.
line() { grep -F -- "$1" "$work/commands" | sed 's/ #.*//'; }
guide() { expect "${2:-0}" bash -e -c "$(line "$1")"; }
guide 'cmake -S'
guide 'cmake --build'

guide tour/first
[ "$(grep -c '^rank [0-3] of 4: the sum is 10$' "$work/out")" -eq 4 ] || die "first"
guide tour/requests
[ "$(grep -c '^rank [0-3] of 4: 0 wrong$' "$work/out")" -eq 4 ] || die "requests"
guide tour/split
says out '^rank 5: row 1 has the sum 12, world/split2:2 has 7$'
guide tour/placement
[ "$(grep -c 'is rank [0-3] of 4: the sum is 6$' "$work/out")" -eq 4 ] || die "placement"
guide tour/recovery
says err '^weft run: rank 3 ended by signal SIGKILL'
[ "$(grep -c '^rank [0-2]: ERR_PEER_DEAD because of rank 3 ' "$work/out")" -eq 3 ] || die "recovery"
[ "$(grep -c '^rank [0-2]: 3 ranks go on$' "$work/out")" -eq 3 ] || die "recovery"
guide tour/windows
says out '; 1 window of 4194304 bytes here, read in place by 0 of 3 other ranks; in world$'
[ "$(grep -c '^rank [0-3] of 4: 0 wrong$' "$work/out")" -eq 4 ] || die "windows"
guide tour/vectors
says out '^rank 3 of 4: 18 elements came, 0 wrong$'
guide tour/puts
[ "$(grep -c '^rank [0-3] of 4: [0-9]* of 1000$' "$work/out")" -eq 4 ] || die "puts"
[ "$(wc -l <"$work/commands")" -eq 10 ] || die "a command of the guide is not run"

# None is longer than what people read in one go, and the first fits on a screen.
for file in examples/tour/*.c; do
    [ "$(wc -l <"$file")" -le 100 ] || die "$file is long"
done
own=$(grep -cvE '^ *(\*|/\*)|^$' examples/tour/first.c)
[ "$own" -le 60 ] || die "the first program has $own lines of its own"
