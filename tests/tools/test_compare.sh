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

names=$("$source_dir/bench/compare" --list --ranks 2,3 --sizes 8,4K,2M)
grep -qx 'all_reduce/shm/3' <<<"$names" || { echo "FAILED: --ranks"; exit 1; }
for wrong in '--sizes 2X' '--sizes 8,,9' '--ranks two'; do
    # shellcheck disable=SC2086
    if "$source_dir/bench/compare" --list $wrong >"$work/out" 2>&1 || grep -q Traceback "$work/out"; then
        cat "$work/out"
        echo "FAILED: $wrong is no error in words"
        exit 1
    fi
done

PYTHONPATH=$source_dir/bench/beside python3 - "$work" "$source_dir" <<'END'
import json
import os
import re
import sys
import xml.dom.minidom

import bars
import jobs
import report

for bar in bars.read_bars():
    assert hasattr(bars.Meter, "bar_" + bar["measurement"][0]), bar["name"]
    assert bar["op"] in bars.OPERATORS, bar["name"]
with open(os.path.join(sys.argv[2], "docs", "performance.md"), encoding="utf-8") as file:
    titles = {re.sub(r"[^\w -]", "", line.lower().strip("# \n")).replace(" ", "-") for line in file if line.startswith("#")}
# A bar that is missed says what would close it: in a section that exists.
names = [bar["name"] for bar in bars.read_bars()]
assert len(set(names)) == len(names), "a bar stands twice in bars.txt"
for name in names:
    section = bars.section_of(name).partition("#")[2]
    assert section in titles, f"docs/performance.md has no section for {name}: {section or 'none is named'}"
assert bars.section_of("no-such-bar") == ""
with open(os.path.join(sys.argv[2], "bench", "results", "compare.json"), encoding="utf-8") as file:
    assert set(json.load(file)["bars"]) <= set(names), "a result of a bar that has left bars.txt"

# Of a folder where ranks meet, files below it are seen, and others' are not.
meeting = os.path.join(sys.argv[1], "weft-meeting")
os.makedirs(os.path.join(meeting, "weft-0"))
seen = jobs.files_of_weft(meeting)
with open(os.path.join(meeting, "weft-0", "left"), "w", encoding="utf-8"):
    assert jobs.files_of_weft(meeting) - seen == {os.path.join(meeting, "weft-0", "left")}

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
results = {"machine": "m <&>", "series": {"all_reduce/shm/2": series, "barrier/shm/2": series},
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
assert "| 3 MISSED: 50 % above | - | - | a\\|b |" in text, text
assert "not measured. Below" in " ".join(report.readme_words(results))
rows = report.verdicts(results, ["join"])
assert len(rows) == 2 and "3 MISSED: 50 % above" in rows[1] and rows[1].endswith(" -"), rows
assert "(all_reduce-shm-2.svg)" in text and "barrier-shm-2.svg" not in text + "".join(found), text
assert any("MISSED" in line for line in report.missed_bars(results))
END
echo "compare: all right"
