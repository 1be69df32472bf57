# SPDX-License-Identifier: BSD-3-Clause
# Slurm on two nodes with networks and an empty read-only /tmp of their own: the id by PMI, by PMIx, by
# hand, and what is said without them.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
if [ "${1:-}" != inside ]; then
    for program in munged slurmctld slurmd srun ip; do
        command -v $program >/dev/null ||
            skip "no $program (Debian: munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins iproute2)"
    done
    unshare --mount --net --pid --fork true 2>/dev/null || skip "may not make namespaces"
    timeout -k 5 150 "$here/slurm_cluster.sh" bash "$here/test_slurm.sh" inside || exit $?
    exit 0
fi

# libpmix leaks by itself; leaks of weft are looked for with the other launchers.
[ -z "${E2E_SANITIZE:-}" ] || export ASAN_OPTIONS=detect_leaks=0
for way in pmi2 pmix; do
    expect 0 srun --mpi=$way -N2 -n4 "$weft" "${perf[@]}"
    all_right 3
    says out '^#  Rank  0 .* n1 '
    says out '^#  Rank  3 .* n2 '
    says out "^# Launcher: slurm, unique id by ${way%2} "
    grep '^# Launcher' "$work/out"
    expect 0 srun --mpi=$way -N2 -n4 "$weft" info --launcher
    says out '^launcher  slurm$'
    says out '^of host   1 of 2$'
    says out "^exchange  ${way%2}: "
done
# One node by PMI, and by a folder: the machine's /tmp is not there, so it must be named.
expect 0 srun --mpi=none -N1 -n2 env WEFT_BOOT_RENDEZVOUS=/dev/shm "$weft" "${perf[@]}"
says out 'unique id by folder '
rmdir /dev/shm/weft-0 2>/dev/null

# Without PMI, two nodes hear the remedy at once.
start=$(date +%s%N)
expect 3 srun --mpi=none -N2 -n4 "$weft" "${perf[@]}"
took=$((($(date +%s%N) - start) / 1000000))
says err 'srun --mpi=pmi2'
says err '2 of 4 ranks are on this host'
echo "the remedy after $took ms"
[ -n "${E2E_SANITIZE:-}" ] || [ $took -lt 1000 ] || die "the remedy took $took ms"

# Ranks in another order than Slurm's, and those of one starter, which Slurm counts as one.
expect 0 srun --mpi=pmi2 -N2 -n4 sh -c "RANK=\$(((SLURM_PROCID + 1) % 4)) WORLD_SIZE=4 '$weft' ${perf[*]}"
says out '^#  Rank  0 .* n2 '
says out '^# Launcher: torchrun, unique id by pmi '
cat >/run/slurm/starter <<'EOF'
export WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_PORT=9 WEFT_BOOT_RENDEZVOUS=/dev/shm
RANK=1 LOCAL_RANK=1 "$@" &
RANK=0 LOCAL_RANK=0 "$@" && wait $!
EOF
expect 0 srun --mpi=pmix -N1 -n1 bash /run/slurm/starter "$weft" "${perf[@]}"
says out '^# Launcher: torchrun, unique id by folder '
rmdir /dev/shm/weft-0 2>/dev/null

# By hand: an id with the address of the first node.
WEFT_UNIQUE_ID=$("$weft" id --at n1:4711)
export WEFT_UNIQUE_ID
expect 0 srun --mpi=none -N2 -n4 sh -c "WEFT_RANK=\$SLURM_PROCID WEFT_NRANKS=4 '$weft' ${perf[*]}"
all_right 3
says out '^# Launcher: environment, unique id by id '
unset WEFT_UNIQUE_ID

for steps in ww iwmwmf wimwf; do
    in_one_process "$with_mpi/with_openmpi" 4 $steps srun --mpi=pmix -N2 -n4
done
# Slurm's PMI allows one beginning for a process, which is MPI's if it has MPI.
for steps in iwmwmf Wimwf iwfW; do
    in_one_process "$with_mpi/with_mpich" 4 $steps srun --mpi=pmi2 -N2 -n4
done
[ ! -x "$with_mpi/with_mpich" ] || says out '^refused: MPI_Finalize has ended the conversation'
run_documented slurm
