#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/compare without measuring: every bar has a measurement and is judged right, made-up results become tables
# and plots that are well-formed, and a name that is not there is an error.
# Usage: test_compare.sh SOURCE_DIR
set -euo pipefail
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1

names=$("$source_dir/bench/compare" --list)
for name in all_reduce/shm/2 barrier/tcp/4 stream/shm/2 join-400-starts window-2; do
    grep -qx "$name" <<<"$names" || { echo "FAILED: --list does not show $name"; exit 1; }
done
if "$source_dir/bench/compare" --no-build no-such-name >"$work/out" 2>&1; then
    echo "FAILED: a name that is not there is no error"
    exit 1
fi
grep -q 'no-such-name' "$work/out" || { cat "$work/out"; exit 1; }

PYTHONPATH=$source_dir/bench/beside python3 - "$work" <<'END'
import os
import sys
import xml.dom.minidom

import bars
import report

for bar in bars.read_bars():
    assert hasattr(bars.Meter, "bar_" + bar["measurement"][0]), bar["name"]
    assert bar["op"] in bars.OPERATORS, bar["name"]
below = {"op": "<=", "limit": 2.0}
assert bars.judge(below, 2.0) == (True, "pass")
assert bars.judge(below, 3.0) == (False, "MISSED: 50 % above")
assert bars.judge({"op": ">=", "limit": 1.0}, 0.7) == (False, "MISSED: 30 % below")
assert bars.judge(below, None)[0] is False
assert bars.bytes_of("2M") == 2 << 20 and bars.bytes_of("8") == 8

series = {"date": "today", "commit": "c", "rounds": 3, "why": {}, "line": [0.1],
          "sides": {"weft": {"8": [1.0, 2.0, 3.0], "64": [4.0, None, 8.0]},
                    "openmpi": {"8": [2.0, 2.0, 2.0], "64": [None, 5.0, 4.0]}}}
assert report.ratios_of(series, "weft", "openmpi") == {8: 1.0, 64: 2.0}
assert report.times_of(series, "weft") == {8: 2.0, 64: 6.0}
run = {"value": 3.0, "passed": False, "words": "MISSED: 50 % above", "detail": "a|b", "date": "d", "commit": "c"}
results = {"machine": "m <&>", "series": {"all_reduce/shm/2": series},
           "bars": {"join": {"op": "<=", "limit": 2.0, "unit": "s", "runs": [run]}}, "scale": {}}
report.RESULTS = report.FIGURES = sys.argv[1]
report.write_tables(results)
report.write_plots(results)
report.write_overview(results)
report.write_figures(results)
found = [name for name in os.listdir(sys.argv[1]) if name.endswith(".svg")]
assert "all_reduce-shm-2.svg" in found and "performance-limit.svg" not in found, found
for name in found:
    xml.dom.minidom.parse(os.path.join(sys.argv[1], name))
with open(os.path.join(sys.argv[1], "compare.md"), encoding="utf-8") as file:
    text = file.read()
assert "| 64 | 6.00 | 4.50 | 2.00 |" in text and "MISSED: 50 % above" in text, text
assert any("MISSED" in line for line in report.missed_bars(results))
END
echo "compare: all right"
