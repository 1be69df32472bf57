# SPDX-License-Identifier: BSD-3-Clause
# ranks: 2
"""What is built on torch.distributed: DDP, FSDP2, DTensor, functional collectives, compiled DDP."""

import copy
import shutil

import torch
import torch.distributed as dist
from job import join, main
from training import difference, model, train

rank, size = join()


def case_ddp_equals_one_process():
    net = model()
    alone = copy.deepcopy(net)
    train(torch.nn.parallel.DistributedDataParallel(net), alone, steps=20)
    assert difference(net, alone) < 1e-6


def case_ddp_with_a_hook_and_with_views():
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    net = model()
    alone = copy.deepcopy(net)
    ddp = torch.nn.parallel.DistributedDataParallel(net, gradient_as_bucket_view=True)
    ddp.register_comm_hook(None, default_hooks.allreduce_hook)
    train(ddp, alone)
    assert difference(net, alone) < 1e-6


def case_ddp_with_powersgd():
    """Its callbacks wait for all-reduces. One bucket: the order of several is not given."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    net = model()
    ddp = torch.nn.parallel.DistributedDataParallel(net)
    state = powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2, min_compression_rate=1)
    ddp.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    train(ddp, copy.deepcopy(net), steps=10)
    assert state.compression_stats()[0] > 1
    for parameter in net.parameters():
        gathered = [torch.empty_like(parameter) for _ in range(size)]
        dist.all_gather(gathered, parameter.detach())
        assert all(torch.equal(gathered[0], other) for other in gathered)


def case_fsdp2_equals_one_process():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (size,))
    net = model()
    alone = copy.deepcopy(net)
    for layer in (net[0], net[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    train(net, alone)
    assert difference(net, alone) < 1e-6


def case_dtensor_changes_its_layout():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (size,))
    whole = torch.arange(32.0).reshape(4, 8)
    shards = distribute_tensor(whole, mesh, [Shard(0)])
    assert torch.equal(shards.redistribute(mesh, [Shard(1)]).full_tensor(), whole)
    assert torch.equal(shards.redistribute(mesh, [Replicate()]).to_local(), whole)
    assert shards.sum().full_tensor().item() == whole.sum().item()


def case_functional_collectives():
    import torch.distributed._functional_collectives as functional

    group = dist.group.WORLD
    assert (functional.all_reduce(torch.ones(3), "sum", group) + 0).tolist() == [float(size)] * 3
    gathered = functional.all_gather_tensor(torch.full((2,), float(rank)), 0, group) + 0
    assert gathered.tolist() == [float(r) for r in range(size) for _ in range(2)]
    part = functional.reduce_scatter_tensor(torch.arange(2.0 * size), "sum", 0, group) + 0
    assert part.tolist() == [float(size * (2 * rank + i)) for i in range(2)]
    swapped = functional.all_to_all_single(torch.arange(2.0) + 10 * rank, None, None, group) + 0
    assert swapped.tolist() == [10.0 * r + rank for r in range(size)]


def case_ddp_compiled():
    if shutil.which("g++") is None:
        return
    net = model()
    alone = copy.deepcopy(net)
    train(torch.compile(torch.nn.parallel.DistributedDataParallel(net)), alone, steps=3)
    assert difference(net, alone) < 1e-6


def case_collectives_compiled():
    if shutil.which("g++") is None:
        return

    @torch.compile
    def twice(tensor):
        dist.all_reduce(tensor)
        return tensor * 2

    assert twice(torch.ones(3)).tolist() == [2.0 * size] * 3


main(globals())
