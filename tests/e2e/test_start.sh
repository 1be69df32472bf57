# SPDX-License-Identifier: BSD-3-Clause
# Jobs of many processes start, and where the system allows too few open files they say so at once.
. "$(dirname "$0")/common.sh"

small=(-b 8 -e 8 -n 1 -w 0 -c 0 --set plan.algo=algo-tree --set net-shm.slot_bytes=4K)
ranks=200
[ -z "${E2E_SANITIZE:-}" ] || ranks=32
expect 0 "$weft" perf all_reduce -P $ranks "${small[@]}"
says out "^#  Rank *$((ranks - 1)) "

# The limit of the ranks, not of the parent: that holds pipes to all of them.
export PMIX_NAMESPACE=start-$$ OMPI_COMM_WORLD_SIZE=72 WEFT_BOOT_RENDEZVOUS=$work
start=$(date +%s%N)
# Rank 0 last: the others wait for its note then, and hear what it finds.
for rank in $(seq 71 -1 0); do
    (
        ulimit -n 64
        export OMPI_COMM_WORLD_RANK=$rank
        exec timeout -k 5 60 "$weft" perf all_reduce "${small[@]}"
    ) >>"$work/out" 2>>"$work/err.$rank" &
done
for job in $(jobs -p); do
    wait "$job" && die "a rank ended well with 64 open files for 72 ranks"
done
took=$((($(date +%s%N) - start) / 1000000))
[ $took -lt 15000 ] || die "took $took ms to name the limit"
cat "$work"/err.* >"$work/err"
for rank in $(seq 0 71); do
    grep -q "the join of 72 ranks needs more open files than RLIMIT_NOFILE allows: the limit is 64" \
        "$work/err.$rank" || die "rank $rank does not name the limit"
done
[ -z "$(find "$work"/weft-* -type f)" ] || die "files are left in the rendezvous"
