# SPDX-License-Identifier: BSD-3-Clause
# Ranks started by the launchers of Open MPI and MPICH.
. "$(dirname "$0")/common.sh"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
ran=0
launch() {
    expect 0 "$@" "$weft" perf all_reduce -b 8 -e 64K -f 64 -n 3
    all_right 3
    says out '^#  Rank  3 '
    [ "$(grep -c '^# weft version' "$work/out")" -eq 1 ] || die "more than one rank printed"
    ran=1
}
# libpmix leaks by itself; leaks of weft are looked for with the other launchers.
[ -z "${E2E_SANITIZE:-}" ] || export ASAN_OPTIONS=detect_leaks=0
if command -v mpirun.openmpi >/dev/null; then
    launch mpirun.openmpi --oversubscribe -n 4
elif command -v mpirun >/dev/null && mpirun --version 2>&1 | grep -q 'Open MPI'; then
    launch mpirun --oversubscribe -n 4
fi
export ASAN_OPTIONS=detect_leaks=1
if command -v mpirun.mpich >/dev/null; then
    launch mpirun.mpich -n 4
fi
[ "$ran" -eq 1 ] || skip "neither Open MPI nor MPICH is installed"
