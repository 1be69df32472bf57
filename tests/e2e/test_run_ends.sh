# SPDX-License-Identifier: BSD-3-Clause
# How a job ends: what `weft` does with the signals that whoever started it ignored, with output that nobody
# takes, and with what the ranks leave behind.
. "$(dirname "$0")/common.sh"
cd "$work" || exit 1
run=("$weft" run)

# A caller that ignores SIGCHLD hides no end of a process.
seconds=15
deaf=(env --ignore-signal=CHLD)
expect 3 "${deaf[@]}" "$weft" perf all_reduce -P 2 -b 8 -e 8 -n 2 --set core.flight=/no/such/folder
expect 0 "${deaf[@]}" "${run[@]}" -n 2 true
expect 5 "${deaf[@]}" "${run[@]}" -n 2 sh -c 'exit 5'
seconds=60
