# SPDX-License-Identifier: BSD-3-Clause
"""A model that is trained in parallel and, on the same data, in one process."""

import torch
import torch.distributed as dist


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))


def train(parallel, alone, steps=5, batch=4, optimizers=None):
    """Trains both, the parallel one on this rank's part. The optimizers are SGD unless given."""
    rank, size = dist.get_rank(), dist.get_world_size()
    if optimizers is None:
        optimizers = [torch.optim.SGD(one.parameters(), 0.1) for one in (parallel, alone)]
    for step in range(steps):
        data = torch.randn(batch * size, 16, generator=torch.Generator().manual_seed(step))
        part = data[batch * rank:batch * (rank + 1)]
        for optimizer, one, inputs in zip(optimizers, (parallel, alone), (part, data)):
            optimizer.zero_grad()
            one(inputs).pow(2).mean().backward()
            optimizer.step()


def difference(parallel, alone):
    return max((getattr(a, "full_tensor", lambda a=a: a)() - b).abs().max().item()
               for a, b in zip(parallel.parameters(), alone.parameters()))
