# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of one rank while all are busy: the survivors name it, the job ends with an error. So it does when
# a rank ends by itself before its time.
. "$(dirname "$0")/common.sh"

: >"$work/out" # the job's shell may not have opened it when it is first read
"$weft" perf all_reduce -P 4 -b 1K -e 1K -n 100 -N 0 >"$work/out" 2>"$work/err" &
job=$!
trap 'kill -9 $job 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 300); do
    [ "$(grep -c '^ *1024 ' "$work/out")" -lt 3 ] || break
    kill -0 $job 2>/dev/null || die "the job ended by itself"
    sleep 0.1
done
victim=$(sed -n 's/^#  Rank  2 Group  0 Pid *\([0-9]*\) .*/\1/p' "$work/out")
[ -n "$victim" ] || die "no pid of rank 2 in the table"
kill -9 "$victim" || die "cannot kill rank 2"
for _ in $(seq 200); do
    kill -0 $job 2>/dev/null || break
    sleep 0.1
done
kill -0 $job 2>/dev/null && die "the job still runs 20 s after the death of a rank"
wait $job
code=$?
[ $code -eq 3 ] || die "exit code $code, expected 3"
says err "^weft: rank 2 \(pid $victim\) was killed by signal 9"
for rank in 0 1 3; do
    says err "^weft: rank $rank .*rank 2"
done

# Rank 0 makes the id. Wherever it is when it is killed, whoever says something names it.
trap 'kill -9 $job 2>/dev/null; rm -rf "$work"' EXIT
for pause in 0 0.002 0.005 0.01 0.02 0.05; do
    "$weft" perf all_reduce -P 4 -b 8 -e 8 -n 1 -N 0 >/dev/null 2>"$work/err" &
    job=$!
    victim=
    for _ in $(seq 3000); do
        victim=$(pgrep -o -P $job) && break
        kill -0 $job 2>/dev/null || break
        sleep 0.01
    done
    [ -n "$victim" ] || die "no rank was started"
    sleep $pause
    kill -9 "$victim" || die "rank 0 ended by itself"
    wait $job
    code=$?
    [ $code -eq 3 ] || die "exit code $code, expected 3"
    says err "^weft: rank 0 \(pid $victim\) was killed by signal 9"
    grep '^weft: rank [1-3]' "$work/err" | grep -v 'rank 0' &&
        die "rank 0 was killed after $pause s, and is not named above"
done

# A rank that its plugin ends with exit(0) has not done its part, wherever that is.
wrong=(--set core.net=net-wrong --set net-wrong.path="$build/lib/weft-test/net-wrong.so")
for mistake in create-exit post-exit destroy-exit; do
    expect 3 "$weft" perf all_reduce -P 2 -b 64K -e 64K -n 20 -w 1 "${wrong[@]}" --set net-wrong.wrong=$mistake
    says err "^weft: rank [01] \(pid [0-9]+\) ended early, with exit code 0"
done
