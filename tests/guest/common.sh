# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests here, on the host and again in the guest, where the same script runs as the
# command: `in_guest` tells the two apart. Every command has its own time limit.
set -uo pipefail

die() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}
skip() {
    printf 'SKIPPED: %s\n' "$*"
    exit 77
}
in_guest() { [ -n "${GUEST:-}" ]; }

if in_guest; then
    # shellcheck source=tests/guest/inside.sh
    . "$TREE/tests/guest/inside.sh"
    return 0
fi

build=${E2E_BUILD:?run by ctest}
source_dir=${E2E_SOURCE:?run by ctest}

# guest [options of run] [-- ARGUMENT…]: runs this very script in the guest
guest() {
    local options=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    [ $# -eq 0 ] || shift
    "$source_dir/tests/guest/run" --timeout 600 --build "$build" "${options[@]}" -- bash "$(realpath "$0")" "$@"
    local code=$?
    [ "$code" -ne 77 ] || skip "this host runs no guest; see above"
    [ "$code" -eq 0 ] || die "in the guest, exit code $code"
}
# needs_plugin NAME: without it the test cannot run; says why
needs_plugin() {
    [ -e "$build/lib/weft/$1.so" ] || skip "$1 was not built: is libibverbs-dev installed?"
}
