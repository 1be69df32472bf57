# SPDX-License-Identifier: BSD-3-Clause
"""Trains a small net on parts of the data, and compares it with one process that has all of it.

By hand (gradients are averaged with all_reduce) and with DistributedDataParallel.

    torchrun --standalone --nproc-per-node 4 examples/torch/ddp.py [backend]
"""

import copy
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as functional
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH = 50, 8


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 5))


def batches(size):
    """The data of all ranks, the same on each."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(STEPS):
        yield (torch.randn(BATCH * size, 20, generator=generator),
               torch.randint(5, (BATCH * size,), generator=generator))


def average_gradients(net):
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)


def train(net, rank, size, after_backward=None):
    """Trains on this rank's part; rank None has all of the data."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for inputs, labels in batches(size):
        if rank is not None:
            part = slice(BATCH * rank, BATCH * (rank + 1))
            inputs, labels = inputs[part], labels[part]
        optimizer.zero_grad()
        loss = functional.cross_entropy(net(inputs), labels)
        loss.backward()
        if after_backward is not None:
            after_backward(net)
        optimizer.step()
    return loss.item()


def difference(net, alone):
    return max((a - b).abs().max().item() for a, b in zip(net.parameters(), alone.parameters()))


def main():
    dist.init_process_group(sys.argv[1] if len(sys.argv) > 1 else "weft")
    rank, size = dist.get_rank(), dist.get_world_size()
    alone = model()
    train(alone, None, size)

    by_hand = model()
    train(by_hand, rank, size, average_gradients)
    net = copy.deepcopy(model())
    train(DistributedDataParallel(net), rank, size)

    for name, one in (("by hand", by_hand), ("DistributedDataParallel", net)):
        print(f"rank {rank}: {name}: {difference(one, alone):.1e} from one process", flush=True)
        assert difference(one, alone) < 1e-6
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
