# SPDX-License-Identifier: BSD-3-Clause
# [core] topology: a file that lists this host serves, and what is wrong with one is named.
. "$(dirname "$0")/common.sh"
run() { expect "$1" "$weft" perf all_reduce -P 3 -b 1K -e 1K -n 1 -w 0 --set "core.topology=$work/racks"; }
here=$(hostname)

printf '# racks\nrack1/switch1 %s\nrack2/switch1 none[01-16]\n' "${here%%.*}" >"$work/racks"
run 0
all_right 1
printf 'rack1 none\nothers *\n' >"$work/racks"
run 0
all_right 1
printf 'rack1 x-none[01-16]\n' >"$work/racks"
run 3
says err "host \"$here\" is in no line of .*racks; the nearest is line 1, \"x-none\[01-16\]\""
printf 'rack1 a\nrack1/switch2 b\n' >"$work/racks"
run 3
says err 'racks:2: 2 levels in the path, but 1 in line 1: "rack1/switch2"'
rm "$work/racks"
run 3
says err '\[core\] topology: cannot read .*racks'
