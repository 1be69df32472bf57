# SPDX-License-Identifier: BSD-3-Clause
"""One rank of torch_nccl.sh: PyTorch's own NCCL backends on devices of threads.

No kernel of PyTorch can run there, so data are made on the host and copied.
"""
import os
import sys

import torch
import torch.distributed as dist


def device(tensor):
    return tensor.to("cuda")


def need(tensor, values):
    got = tensor.cpu().tolist()
    if got != values:
        sys.exit(f"rank {dist.get_rank()}: {got}, expected {values}")


def collectives(rank, n):
    summed = device(torch.full((1000,), float(rank + 1)))
    dist.all_reduce(summed)
    need(summed, [n * (n + 1) / 2] * 1000)
    gathered = device(torch.zeros(3 * n))
    dist.all_gather_into_tensor(gathered, device(torch.full((3,), float(rank))))
    need(gathered, [float(i // 3) for i in range(3 * n)])
    given = device(torch.full((5,), float(rank)))
    dist.broadcast(given, 1)
    need(given, [1.0] * 5)
    part = device(torch.zeros(2, dtype=torch.int64))
    dist.reduce_scatter_tensor(part, device(torch.arange(2 * n, dtype=torch.int64)))
    need(part, [n * 2 * rank, n * (2 * rank + 1)])
    exchanged = device(torch.zeros(n))
    dist.all_to_all_single(exchanged, device(torch.full((n,), float(rank))))
    need(exchanged, [float(i) for i in range(n)])


def messages(rank):
    if rank == 0:
        dist.send(device(torch.full((4,), 7.0)), 1)
    elif rank == 1:
        received = device(torch.zeros(4))
        dist.recv(received, 0)
        need(received, [7.0] * 4)


def groups(rank, n):
    """All but the last rank."""
    group = dist.new_group(list(range(n - 1)))
    if rank < n - 1:
        summed = device(torch.full((2,), 2.0))
        dist.all_reduce(summed, group=group)
        need(summed, [2.0 * (n - 1)] * 2)
    dist.barrier()


def main():
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group(sys.argv[1])
    collectives(rank, dist.get_world_size())
    messages(rank)
    groups(rank, dist.get_world_size())
    backend = dist.distributed_c10d._get_default_group()._get_backend(torch.device("cuda"))
    version = ".".join(map(str, torch.cuda.nccl.version()))
    dist.destroy_process_group()
    print(f"rank {rank} right: {type(backend).__name__} on NCCL {version}", flush=True)


main()
