# SPDX-License-Identifier: BSD-3-Clause
# Open MPI's mpirun carries the id by PMIx.
. "$(dirname "$0")/common.sh"
mpirun=${E2E_MPIEXEC:-mpirun.openmpi}
program=${E2E_MPI_PROGRAM:-$with_mpi/with_openmpi}
command -v $mpirun >/dev/null || skip "no $mpirun (Debian: openmpi-bin)"
# libpmix leaks by itself; leaks of weft are looked for with the other launchers.
[ -z "${E2E_SANITIZE:-}" ] || export ASAN_OPTIONS=detect_leaks=0
may_unshare || skip "may not make mount namespaces"

measures pmix $mpirun --oversubscribe -n 4
expect 0 $mpirun --oversubscribe -n 2 "$weft" info --launcher
says out '^launcher  openmpi$'
says out '^exchange  pmix: PMIX_NAMESPACE = '
export WEFT_BOOT_RENDEZVOUS=$work
expect 0 $mpirun --oversubscribe -n 2 env WEFT_BOOT_EXCHANGE=folder "$weft" "${perf[@]}"
says out 'unique id by folder '
unset WEFT_BOOT_RENDEZVOUS

# One agent of torchrun, whose workers are two: mpirun's server counts one rank.
cat >"$work/workers" <<'EOF'
export WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=none MASTER_ADDR=localhost MASTER_PORT=9
RANK=1 LOCAL_RANK=1 "$@" &
RANK=0 LOCAL_RANK=0 "$@" && wait $!
EOF
WEFT_BOOT_RENDEZVOUS=$work expect 0 $mpirun -n 1 bash "$work/workers" "$weft" "${perf[@]}"
says out '^# Launcher: torchrun, unique id by folder '

# Either begins first.
for steps in iwmwmf wimwf wwimf iwfW; do
    in_one_process "$program" 3 $steps $mpirun --oversubscribe -n 3
done
[ ! -x "$program" ] || says out '^refused: MPI_Finalize has ended the conversation'
# By a folder every order works too.
export WEFT_BOOT_EXCHANGE=folder WEFT_BOOT_RENDEZVOUS=$work
in_one_process "$program" 3 wimfw $mpirun -x WEFT_BOOT_EXCHANGE -x WEFT_BOOT_RENDEZVOUS --oversubscribe -n 3
unset WEFT_BOOT_EXCHANGE WEFT_BOOT_RENDEZVOUS
run_documented openmpi
