# SPDX-License-Identifier: BSD-3-Clause
# Names of algorithms and parameters that are misspelt are errors with the nearest word, wherever they
# are given; parameters work in [plan] algo.
. "$(dirname "$0")/common.sh"

perf() {
    local code=$1
    shift
    expect "$code" "$weft" perf all_reduce -t 2 -b 64 -e 64 -n 2 -w 1 "$@"
}
refused() {
    local text=$1 code=0
    shift
    timeout -k 5 60 "$weft" perf all_reduce -t 2 -b 64 -e 64 -n 2 -w 1 "$@" >"$work/out" 2>"$work/err" || code=$?
    [ "$code" -ne 0 ] && [ "$code" -lt 124 ] || die "exit code $code: $*"
    cat "$work/out" >>"$work/err"
    says err "$text"
}
refused 'no loaded algorithm is called algo-rign.*algo-ring' --set tuner.prefer=all_reduce:algo-rign
refused 'no loaded algorithm is called algo-ring:x=1' --set tuner.prefer=all_reduce:algo-ring:x=1
refused '"algo-rign".*algo-ring' -A algo-rign
refused 'algo-ring has no parameter "x"' -A algo-ring:x=1
refused 'is no NAME=VALUE' -A algo-ring:x
refused 'algo-swing is not loaded: add it to \[core\] algo' -A algo-swing
perf 0 -A algo-ring
all_right 1
perf 0 --set tuner.prefer=all_reduce:algo-ring

# An algorithm with a parameter: tests/check.
plugin=$build/lib/weft-test/algo-wrong.so
[ -e "$plugin" ] || skip "no algorithm with a parameter was built"
with=(--set core.algo=algo-wrong --set algo-wrong.path="$plugin"
    --set algo-wrong.right="$build/lib/weft/algo-ring.so")
perf 0 "${with[@]}" -A algo-wrong:fail=0
all_right 1
refused 'the parameter fail is 2' "${with[@]}" -A algo-wrong:fail=2
refused 'the parameter fail is 3' "${with[@]}" --set plan.algo=algo-wrong:fail=3
refused 'no parameter "fial".*fail' "${with[@]}" -A algo-wrong:fial=2
refused 'fail = 4, expected a number from 0 to 3' "${with[@]}" -A algo-wrong:fail=4
