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
refused 'prefer: algo-ring:x=1: algo-ring has no parameter "x"' --set tuner.prefer=all_reduce:algo-ring:x=1
refused '"algo-rign".*algo-ring' -A algo-rign
refused '\[algo-ring\] x: unknown key' -A algo-ring:x=1
refused 'is name=value, not' -A algo-ring:x
refused 'algo-ring has no parameter "x"' --set plan.algo=algo-ring:x=1
refused 'is no NAME=VALUE' --set plan.algo=algo-ring:x
refused 'algo-swing is not loaded: add it to \[core\] algo' -A algo-swing
# On one host algo-hier never asks the algorithm between hosts, but its name has to be right.
refused 'between = algo-rign: no algorithm of this name is loaded, did you mean algo-ring' \
    --set algo-hier.between=algo-rign
perf 0 --set algo-hier.between=algo-tree
perf 0 -A algo-ring
all_right 1
perf 0 --set tuner.prefer=all_reduce:algo-ring
# A rule gives way to [plan] algo, whatever it forces; beyond a limit it is told the limit.
refused 'algo-swing is not loaded|no loaded algorithm is called algo-swing' --set 'tuner.rule=any: algo-swing force'
perf 0 --set 'tuner.rule=all_reduce: algo-tree force' --set plan.algo=algo-ring
all_right 1
refused 'slices=99, at most [0-9]+ are possible' --set 'tuner.rule=all_reduce: algo-ring slices=99 force'
perf 0 --set 'tuner.rule=all_reduce: algo-ring slices=99'

# An algorithm with a parameter: tests/check.
plugin=$build/lib/weft-test/algo-wrong.so
[ -e "$plugin" ] || skip "no algorithm with a parameter was built"
with=(--set core.algo=algo-wrong --set algo-wrong.path="$plugin"
    --set algo-wrong.right="$build/lib/weft/algo-ring.so")
perf 0 "${with[@]}" -A algo-wrong:fail=0
all_right 1
refused 'the parameter fail is 2' "${with[@]}" -A algo-wrong:fail=2
refused 'the parameter fail is 3' "${with[@]}" --set plan.algo=algo-wrong:fail=3
refused 'fial: unknown key, did you mean fail' "${with[@]}" -A algo-wrong:fial=2
refused 'fail = 4: out of range, expected 0 to 3' "${with[@]}" -A algo-wrong:fail=4
refused 'no parameter "fial".*fail' "${with[@]}" --set plan.algo=algo-wrong:fial=2
refused 'fail = 4, expected a number from 0 to 3' "${with[@]}" --set plan.algo=algo-wrong:fail=4

# In a file: the section, a preference and a rule; each mistake with its line.
ini() {
    printf '[core]\nalgo = algo-wrong\n[algo-wrong]\npath = %s\nright = %s\n%s\n' \
        "$plugin" "$build/lib/weft/algo-ring.so" "$1" >"$work/weft.ini"
}
ini 'fail = 2'
refused 'the parameter fail is 2' --conf "$work/weft.ini"
expect 0 "$weft" info --conf "$work/weft.ini"
says out 'parameter fail = 2 \(0 to 3\)'
perf 0 --conf "$work/weft.ini" --set algo-wrong.fail=0
perf 0 --conf "$work/weft.ini" -A algo-wrong:fail=0
ini 'fial = 2'
refused 'weft.ini:6: \[algo-wrong\] fial: unknown key, did you mean fail' --conf "$work/weft.ini"
ini 'fail = 9'
refused 'weft.ini:6: \[algo-wrong\] fail = 9: out of range, expected 0 to 3' --conf "$work/weft.ini"
for option in 'prefer = all_reduce:' 'rule = all_reduce bytes=1..1K: '; do
    key=${option%% *}
    ini "[tuner]
${option}algo-wrong:fail=2"
    refused 'the parameter fail is 2' --conf "$work/weft.ini"
    # The variant is refused for its plan, and the algorithm as it is configured takes its place.
    ini "[tuner]
${option}algo-wrong:fail=0"
    expect 0 "$weft" why all_reduce -P 2 -b 64 -e 64 --conf "$work/weft.ini"
    says out 'algo-wrong:fail=0'
    ini "[tuner]
${option}algo-wrong:fial=2"
    refused "weft.ini:7: \\[tuner\\] $key: algo-wrong:fial=2: .*did you mean fail" --conf "$work/weft.ini"
    ini "[tuner]
${option}algo-wrong:fail=4"
    refused "weft.ini:7: \\[tuner\\] $key: .*fail = 4, expected a number from 0 to 3" --conf "$work/weft.ini"
    ini "[tuner]
${option}algo-wrnog:fail=2"
    refused "weft.ini:7: .*algo-wrong" --conf "$work/weft.ini"
done

# Every tool that takes -A says the same.
for tool in "plan all_reduce -n 4" "sim all_reduce -n 4" "why all_reduce -P 2 -b 64 -e 64" "perf all_reduce -t 2"; do
    for mistake in 'algo-wrong:fial=2/did you mean fail' 'algo-wrong:fail=4/expected 0 to 3' \
        'algo-wrnog:fail=2/algo-wrong'; do
        code=0
        # shellcheck disable=SC2086
        timeout -k 5 60 "$weft" $tool "${with[@]}" -A "${mistake%%/*}" >"$work/out" 2>"$work/err" || code=$?
        [ "$code" -ne 0 ] && [ "$code" -lt 124 ] || die "exit code $code: $tool -A ${mistake%%/*}"
        says err "${mistake#*/}"
    done
done
