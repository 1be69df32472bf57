# SPDX-License-Identifier: BSD-3-Clause
"""Every collective of torch.distributed, one after the other, with what each rank has at the end.

    torchrun --standalone --nproc-per-node 4 examples/torch/primitives.py [backend]
"""

import sys

import torch
import torch.distributed as dist


def show(rank, name, value):
    """Prints in the order of the ranks."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    if rank == 0:
        print(name)
        for each, text in enumerate(values):
            print(f"  rank {each}: {text}", flush=True)


def main():
    dist.init_process_group(sys.argv[1] if len(sys.argv) > 1 else "weft")
    rank, size = dist.get_rank(), dist.get_world_size()
    here = torch.tensor([float(rank), 1.0])

    tensor = here.clone()
    dist.broadcast(tensor, src=0)
    show(rank, "broadcast from rank 0", tensor.tolist())

    tensor = here.clone()
    dist.reduce(tensor, dst=0, op=dist.ReduceOp.SUM)
    show(rank, "reduce to rank 0", tensor.tolist() if rank == 0 else None)

    tensor = here.clone()
    dist.all_reduce(tensor, op=dist.ReduceOp.SUM)
    show(rank, "all_reduce, sum", tensor.tolist())

    tensor = here.clone()
    dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
    show(rank, "all_reduce, maximum", tensor.tolist())

    parts = [torch.empty(2) for _ in range(size)]
    dist.all_gather(parts, here)
    show(rank, "all_gather", [part.tolist() for part in parts])

    parts = [torch.empty(2) for _ in range(size)] if rank == 0 else None
    dist.gather(here, parts, dst=0)
    show(rank, "gather to rank 0", [part.tolist() for part in parts] if parts else None)

    parts = [torch.tensor([float(each)]) for each in range(size)] if rank == 0 else None
    tensor = torch.empty(1)
    dist.scatter(tensor, parts, src=0)
    show(rank, "scatter from rank 0", tensor.tolist())

    tensor = torch.empty(1)
    dist.reduce_scatter(tensor, [torch.tensor([float(rank + each)]) for each in range(size)])
    show(rank, "reduce_scatter", tensor.tolist())

    tensor = torch.empty(size)
    dist.all_to_all_single(tensor, torch.arange(float(size)) + 10 * rank)
    show(rank, "all_to_all", tensor.tolist())

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
