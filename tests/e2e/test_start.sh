# SPDX-License-Identifier: BSD-3-Clause
# Jobs of many processes start, and where the system allows too few open files they say so at once.
. "$(dirname "$0")/common.sh"

small=(-b 8 -e 8 -n 1 -w 0 -c 0 --set plan.algo=algo-tree --set net-shm.slot_bytes=4K)
ranks=200
[ -z "${E2E_SANITIZE:-}" ] || ranks=32
expect 0 "$weft" perf all_reduce -P $ranks "${small[@]}"
says out "^#  Rank *$((ranks - 1)) "

# The process of the root has too few open files for 72 ranks.
export PMIX_NAMESPACE=start-$$ OMPI_COMM_WORLD_SIZE=72 OMPI_COMM_WORLD_RANK=0
export WEFT_BOOT_RENDEZVOUS=$work
ulimit -n 64
expect 3 timeout -k 5 15 "$weft" perf all_reduce "${small[@]}"
says err "the join of 72 ranks needs more open files than RLIMIT_NOFILE allows: the limit is 64"
[ -z "$(find "$work"/weft-* -type f)" ] || die "files are left in the rendezvous"
