# SPDX-License-Identifier: BSD-3-Clause
# Output that is lost is an error; a standard stream that is closed leads nowhere.
. "$(dirname "$0")/common.sh"

if [ -w /dev/full ]; then
    for command in version "info" "plan all_reduce -n 4" "plan --help" "config" "plan all_reduce -n 4 --svg -" \
        "topo --svg -"; do
        code=0
        # shellcheck disable=SC2086
        timeout 60 "$weft" $command >/dev/full 2>"$work/err" || code=$?
        [ $code -ne 0 ] || die "$command: exit code 0 on a full disk"
        says err '^weft: cannot write (to standard output|the .*): No space left on device$'
        [ "$(wc -l <"$work/err")" -eq 1 ] || die "$command: not one line"
    done
fi

# What is printed must not come into a file or a pipe that got the number of standard output.
expect 0 bash -c '"$@" >&-' - "$weft" run -n 2 echo rank
expect 0 bash -c '"$@" >&- 2>&-' - "$weft" perf all_reduce -P 2 -b 8 -e 8 -n 2
[ ! -s "$work/out" ] || die "something is written"

# Nobody reads what is printed: all ranks end, in silence, as other commands do.
exec 3> >(exec <&-)
wait $!
for command in "perf all_reduce -P 2 -b 8 -e 1M -n 2" "tune all_reduce -P 2 -e 32 -n 3 -O $work/rules.ini" "plan all_reduce -n 4" \
    "run -n 2 -- $weft perf all_reduce -b 8 -e 1M -n 2"; do
    code=0
    # shellcheck disable=SC2086
    timeout -k 5 180 "$weft" $command >&3 2>"$work/err" || code=$?
    [ $code -eq 141 ] || die "$command: exit code $code, expected that of SIGPIPE"
    [ ! -s "$work/err" ] || die "$command: not in silence"
done
exec 3>&-
