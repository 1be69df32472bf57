# SPDX-License-Identifier: BSD-3-Clause
# torchrun on two hosts with an empty /tmp each: its store carries the id to a program of weft, and the
# backend of torch trains over both. E2E_TORCH is an environment with torch.
. "$(dirname "$0")/common.sh"
pods_up 2
path=$pod_files:$build/tests/bindings/torch/path:$source_dir/bindings/python
# A torch without entry points wants an import first (docs/pytorch.md), which ours is for all scripts.
"$E2E_TORCH/bin/python" -c 'import sys, torch.distributed as d
sys.exit(not hasattr(d.Backend, "_ensure_backend_registered"))' ||
    echo 'import weft.torch' >"$pod_files/sitecustomize.py"
# torchrun_pod NUMBER, on each: $command is what the agent starts, twice on each pod.
torchrun_pod() {
    on_pod "$1" env PYTHONPATH="$path" LD_LIBRARY_PATH="$build/lib" OMP_NUM_THREADS=1 \
        GLOO_SOCKET_IFNAME=eth0 WEFT_CORE_NET="net-shm net-socket" timeout -k 5 120 \
        "$E2E_TORCH/bin/python" -m torch.distributed.run --nnodes 2 --nproc-per-node 2 \
        --rdzv-backend "$rendezvous" --rdzv-endpoint pod-0:29400 --master-addr pod-0 \
        --master-port 29401 --node-rank "$1" "${command[@]}"
}
for rendezvous in static c10d; do
    command=(--no-python "$weft" "${perf[@]}")
    on_each_pod torchrun_pod
    all_right 3
    says out '^#  Rank  3 .* pod-1 '
    says out "^# Launcher: torchrun, unique id by tcp \\(torchrun's store at pod-0"
    grep '^# Launcher' "$work/out"
done
command=("$source_dir/examples/torch/ddp.py")
on_each_pod torchrun_pod
says out '^rank 3: DistributedDataParallel: [0-9.e-]+ from one process'
