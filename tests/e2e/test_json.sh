# SPDX-License-Identifier: BSD-3-Clause
# JSON of every subcommand is JSON and holds what it should.
. "$(dirname "$0")/common.sh"
command -v jq >/dev/null || skip "no jq"

holds() {
    jq -e "$1" "$work/out" >/dev/null || die "not true of the JSON: $1"
}
expect 0 "$weft" perf all_reduce -t 2 -b 8 -e 512 -f 8 -n 10 -I 1 --json -J "$work/file.json"
holds '.version == 3 and (.results | length) == 3 and .out_of_bounds.okay'
holds '.config.devices | length == 2'
holds '.results | all(.out_of_place.per_iter | .min <= .p50 and .p50 <= .p99 and .p99 <= .max)'
holds '.results[0] | .size == 8 and .count == 2 and .type == "float" and .redop == "sum" and .root == -1'
holds '.results | all(.out_of_place.nwrong == 0 and .in_place.nwrong == 0)'
jq -e '.results | length == 3' "$work/file.json" >/dev/null || die "the file of -J is not as expected"
# A file that cannot be written is told before any rank starts.
expect 6 "$weft" perf all_reduce -P 2 -b 8 -e 8 -n 1 -J "$work/none/file.json"
[ "$(cat "$work/err")" = "weft: cannot write $work/none/file.json: No such file or directory" ] ||
    die "more than one line: $(cat "$work/err")"
expect 0 "$weft" perf all_to_all_v -t 3 -b 4K -e 4K -n 10 --stats --pattern zipf:5 --json
holds '.config.pattern == "zipf" and .config.pattern_seed == 5 and .config.stats'
holds '.results[0] | .collective == "all_to_all_v" and .in_place.time == null and .in_place.nwrong == "N/A"'
holds '.results[0].out_of_place.stats | .min <= .p50 and .p50 <= .p90 and .p90 <= .p99 and .p99 <= .max and .stddev >= 0'
expect 0 "$weft" perf all -t 2 -b 64 -e 64 -n 1 --json --set "core.algo=algo-ring"
holds '[.skipped[].collective] | index("all_to_all") != null and index("gather_v") != null'
holds '[.results[].collective] | index("all_reduce") != null and index("send_recv") != null'
expect 0 "$weft" info --json
holds '.net and .algo and .kernel and .tuner'
expect 0 "$weft" config --json
holds '.core.net.value and .core.net.origin'
expect 0 "$weft" plan all_reduce -n 4 --check --json
holds '.out_of_place.verdict == "ok" and .in_place.verdict == "ok"'
