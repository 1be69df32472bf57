# SPDX-License-Identifier: BSD-3-Clause
"""Groups of some of the ranks: the even ones and the odd ones reduce by themselves.

    torchrun --standalone --nproc-per-node 4 examples/torch/groups.py [backend]
"""

import sys

import torch
import torch.distributed as dist


def main():
    dist.init_process_group(sys.argv[1] if len(sys.argv) > 1 else "weft")
    rank, size = dist.get_rank(), dist.get_world_size()
    members = [list(range(0, size, 2)), list(range(1, size, 2))]
    groups = [dist.new_group(ranks) for ranks in members if ranks]

    tensor = torch.tensor([float(rank)])
    dist.all_reduce(tensor, group=groups[rank % 2])
    expected = sum(members[rank % 2])
    print(f"rank {rank} of group {members[rank % 2]}: {tensor.item()}", flush=True)
    assert tensor.item() == expected

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
