# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests: where things are, and small checks. Every command has its own time limit.
set -uo pipefail
# A variable of the caller would be another configuration.
while IFS='=' read -r name _; do
    case $name in WEFT_*) unset "$name" ;; esac
done < <(env)
build=${E2E_BUILD:?run by ctest}
source_dir=${E2E_SOURCE:?run by ctest}
weft=$build/bin/weft
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1} UBSAN_OPTIONS=print_stacktrace=1

die() {
    printf 'FAILED: %s\n' "$*" >&2
    for file in "$work"/out "$work"/err; do
        [ ! -s "$file" ] || sed "s|^|$(basename "$file"): |" "$file" | tail -n 40 >&2
    done
    exit 1
}
skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}
# expect CODE COMMAND…: runs it, output in $work/out and $work/err; it has $seconds.
seconds=60
expect() {
    local want=$1 code=0
    shift
    timeout -k 5 "$seconds" "$@" >"$work/out" 2>"$work/err" || code=$?
    [ "$code" -eq "$want" ] || die "exit code $code, expected $want: $*"
}
# documented TAG: the commands of the guides that are marked with it (tests/docs/guides.py).
documented() {
    ! command -v python3 >/dev/null || python3 -B "$source_dir/tests/docs/guides.py" "$1" "$build"
}
# says FILE PATTERN
says() {
    grep -qE -- "$2" "$work/$1" || die "no /$2/ in $1"
}
# all_right ROWS: the table has that many rows, all with 0 wrong (or nothing measured in place), and the
# verdict is OK.
all_right() {
    local rows
    rows=$(grep -cv -e '^#' -e '^$' "$work/out")
    [ "$rows" -eq "$1" ] || die "$rows rows, expected $1"
    awk '!/^#/ && NF > 0 && (NF != 13 || $9 != "0" || $13 !~ /^(0|N\/A)$/) { exit 1 }' "$work/out" ||
        die "a row with #wrong other than 0"
    says out '^# Out of bounds values : 0 OK$'
}
