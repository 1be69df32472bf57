# SPDX-License-Identifier: BSD-3-Clause
# Pods as namespaces, with the variables that Kubernetes and Kubeflow give them: an indexed Job, a
# PyTorchJob whose containers run a program of weft, and an MPIJob, whose launcher starts ranks by a
# command of its own on each worker.
. "$(dirname "$0")/common.sh"
pods_up 3
perf+=(--set "core.net=net-shm net-socket")

# An indexed Job: pod 0 is known by name, the id is a Secret.
WEFT_UNIQUE_ID=$("$weft" id --at pod-0:4711) || die "no id"
indexed_pod() {
    JOB_COMPLETION_INDEX=$1 WEFT_NRANKS=$pods WEFT_UNIQUE_ID=$WEFT_UNIQUE_ID \
        on_pod "$1" timeout -k 5 60 "$weft" "${perf[@]}"
}
on_each_pod indexed_pod
all_right 3
says out '^#  Rank  2 .* pod-2 '
says out '^# Launcher: environment, unique id by id '

# A PyTorchJob gives rank and size as torchrun does, and nobody serves a store: the id is a Secret too.
pytorch_pod() {
    RANK=$1 WORLD_SIZE=$pods MASTER_ADDR=pod-0 MASTER_PORT=23456 PET_NNODES=$pods \
        WEFT_UNIQUE_ID=$WEFT_UNIQUE_ID on_pod "$1" timeout -k 5 60 "$weft" "${perf[@]}"
}
on_each_pod pytorch_pod
all_right 3
says out '^# Launcher: torchrun, unique id by id '
# Without, the remedy is said at once.
expect 3 env RANK=1 WORLD_SIZE=3 MASTER_ADDR=pod-0 MASTER_PORT=23456 "$weft" "${perf[@]}"
says err 'weft id --at HOST:PORT'

# An MPIJob: mpirun starts its daemons on the workers by a command in place of ssh. What it starts there
# finds no file of this test but $pod_files.
worker() {
    while [[ $1 == -* ]]; do shift; done
    local pod=${1#pod-}
    shift
    on_pod "$pod" sh -c "$*"
}
export -f worker
printf '#!/bin/bash\nworker "$@"\n' >"$pod_files/rsh"
chmod +x "$pod_files/rsh"
hosts=pod-0:1,pod-1:1,pod-2:1
# mpi_job COMMAND…
mpi_job() {
    expect 0 bash -c 'on_pod 0 "$@"' x "$@" --host $hosts -n 3 "$weft" "${perf[@]}"
    all_right 3
    says out '^#  Rank  2 .* pod-2 '
}
if command -v mpirun.mpich >/dev/null; then
    mpi_job mpirun.mpich -launcher ssh -launcher-exec "$pod_files/rsh"
    says out '^# Launcher: hydra, unique id by pmi '
fi
# libpmix leaks by itself; leaks of weft are looked for with the other launchers.
[ -z "${E2E_SANITIZE:-}" ] || export ASAN_OPTIONS=detect_leaks=0
if command -v mpirun.openmpi >/dev/null; then
    mpi_job mpirun.openmpi --mca plm_rsh_agent "$pod_files/rsh"
    says out '^# Launcher: openmpi, unique id by pmix '
fi
