# SPDX-License-Identifier: BSD-3-Clause
# Jobs of many processes start, and where the system allows too few open files they say so at once.
. "$(dirname "$0")/common.sh"

small=(-b 8 -e 8 -n 1 -w 0 -c 0)
ranks=200 many=72
[ -z "${E2E_SANITIZE:-}" ] || ranks=32
expect 0 "$weft" perf all_reduce -P $ranks "${small[@]}"
says out "^#  Rank *$((ranks - 1)) "

# Whoever starts them says it before the first is started.
(ulimit -n 64 && exec timeout -k 5 60 "$weft" perf all_reduce -P 1000 "${small[@]}") >"$work/out" 2>"$work/err" &&
    die "1000 processes were started with 64 open files"
says err "^weft: -P 1000, two pipes for each process, needs more open files than RLIMIT_NOFILE allows: the limit is 64"

# The limit of the ranks, not of their parent, which holds pipes to all of them.
export PMIX_NAMESPACE=start-$$ OMPI_COMM_WORLD_SIZE=$many WEFT_BOOT_RENDEZVOUS=$work
rank() {
    ulimit -n 64
    export OMPI_COMM_WORLD_RANK=$1
    exec timeout -k 5 60 "$weft" perf all_reduce "${small[@]}"
}
# Rank 0 last: the others wait for its note then, and hear what it finds.
jobs=()
start=$(date +%s%N)
for r in $(seq $((many - 1)) -1 0); do
    (rank "$r") >>"$work/out" 2>"$work/err.$r" &
    jobs+=($!)
done
for job in "${jobs[@]}"; do
    wait "$job" && die "a rank ended well with 64 open files for $many ranks"
done
took=$((($(date +%s%N) - start) / 1000000))
echo "all $many ranks named the limit after $took ms"
[ $took -lt 15000 ] || die "took $took ms to name the limit"
for r in $(seq 0 $((many - 1))); do
    cp "$work/err.$r" "$work/err"
    says err "host .*, pid [0-9]*, which made the unique id: the join of $many ranks needs more open files than RLIMIT_NOFILE allows: the limit is 64"
done
left=$(find "$work"/weft-* -type f | wc -l)
[ "$left" -le 1 ] || die "$left files are left in the rendezvous"
