# SPDX-License-Identifier: BSD-3-Clause
# Hydra carries the id by PMI-1: ranks without a folder, several communicators, MPI before and after.
. "$(dirname "$0")/common.sh"
hydra=${E2E_MPIEXEC:-mpirun.mpich}
program=${E2E_MPI_PROGRAM:-$with_mpi/with_mpich}
command -v $hydra >/dev/null || skip "no $hydra (Debian: mpich)"
may_unshare || skip "may not make mount namespaces"

# In one of some thousand runs, of "echo" too, SIGPIPE ends Hydra before it has passed on a word. Not below
# $work, which is not seen where /tmp is empty.
again=$build/hydra.$$
cat >"$again" <<EOF
#!/bin/sh
out=\$(mktemp)
for try in 1 2 3; do
    $hydra "\$@" >"\$out"
    code=\$?
    [ \$code -eq 141 ] && [ ! -s "\$out" ] || break
    echo "Hydra was ended by SIGPIPE; again" >&2
done
cat "\$out"
rm "\$out"
exit \$code
EOF
chmod +x "$again"
hydra=$again

measures pmi $hydra -n 4
expect 0 $hydra -n 2 "$weft" info --launcher
says out '^launcher  hydra$'
says out '^rank      1 of 2$'
says out '^exchange  pmi: PMI_FD = [0-9]+$'
expect 0 $hydra -n 2 "$weft" info --launcher --json

# Another way by option; one that is not open says which are.
export WEFT_BOOT_RENDEZVOUS=$work
expect 0 $hydra -n 2 env WEFT_BOOT_EXCHANGE=folder "$weft" "${perf[@]}"
says out 'unique id by folder '
expect 3 $hydra -n 2 env WEFT_BOOT_EXCHANGE=pmix "$weft" "${perf[@]}"
says err 'boot.exchange = pmix: PMIX_NAMESPACE is not set; open here: pmi, folder'
unset WEFT_BOOT_RENDEZVOUS

for steps in ww iwmwmf wimwf wwimf iwfW; do
    in_one_process "$program" 3 $steps $hydra -n 3
done
[ ! -x "$program" ] || says out '^refused: MPI_Finalize has ended the conversation'
run_documented hydra
rm "$again"
