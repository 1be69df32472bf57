# SPDX-License-Identifier: BSD-3-Clause
# ranks: 4
"""More of what is built on torch.distributed: sharded optimizers, checkpoints, pipelines."""

import copy
import shutil
import tempfile

import torch
import torch.distributed as dist
from job import join, main
from training import difference, model, train

rank, size = join()


def case_fsdp1_equals_one_process():
    from torch.distributed.fsdp import FullyShardedDataParallel

    net = model()
    alone = copy.deepcopy(net)
    sharded = FullyShardedDataParallel(net, device_id=torch.device("cpu"), use_orig_params=True)
    train(sharded, alone)
    with FullyShardedDataParallel.summon_full_params(sharded):
        assert difference(sharded, alone) < 1e-6


def case_sharded_optimizer_equals_one_process():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    net = model()
    alone = copy.deepcopy(net)
    ddp = torch.nn.parallel.DistributedDataParallel(net)
    sharded = ZeroRedundancyOptimizer(ddp.parameters(), torch.optim.Adam, lr=0.01)
    train(ddp, alone, optimizers=[sharded, torch.optim.Adam(alone.parameters(), 0.01)])
    assert difference(net, alone) < 1e-5
    sharded.consolidate_state_dict(0)
    assert rank != 0 or len(sharded.state_dict()["state"]) == 4


def case_hybrid_shards_in_bf16():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = init_device_mesh("cpu", (size // 2, 2), mesh_dim_names=("copies", "shards"))
    net = model()
    alone = copy.deepcopy(net)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    fully_shard(net, mesh=mesh, mp_policy=policy)
    train(net, alone)
    assert difference(net, alone) < 0.01


def case_checkpoints_come_back():
    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
    from torch.distributed.fsdp import fully_shard

    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, 0)
    net = model()
    before = copy.deepcopy(net)
    fully_shard(net)
    checkpoint.save(get_model_state_dict(net), checkpoint_id=f"{folder[0]}/now")
    checkpoint.async_save(get_model_state_dict(net), checkpoint_id=f"{folder[0]}/later",
                          process_group=dist.new_group()).result()
    for name in ("now", "later"):
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.zero_()
        state = get_model_state_dict(net)
        checkpoint.load(state, checkpoint_id=f"{folder[0]}/{name}")
        set_model_state_dict(net, state)
        assert difference(net, before) == 0
    dist.barrier()
    if rank == 0:
        shutil.rmtree(folder[0])


def gradients_of_pipeline(schedule, stages):
    """Of this rank's stages, beside those of the whole model in one process."""
    from torch.distributed import pipelining

    torch.manual_seed(0)
    layers = [torch.nn.Linear(16, 16) for _ in range(stages * size)]
    alone = torch.nn.Sequential(*copy.deepcopy(layers))
    data = torch.randn(8, 16, generator=torch.Generator().manual_seed(1))
    alone(data).pow(2).mean().backward()
    mine = range(rank, stages * size, size)
    parts = [pipelining.PipelineStage(layers[at], at, stages * size, torch.device("cpu"))
             for at in mine]
    run = schedule(parts if stages > 1 else parts[0], n_microbatches=4,
                   loss_fn=lambda result, target: (result - target).pow(2).mean())
    if rank == 0:
        run.step(data)
    elif rank == size - 1:
        run.step(target=torch.zeros(8, 16), losses=[])
    else:
        run.step()
    for at in mine:
        yield layers[at].weight.grad, alone[at].weight.grad


def case_pipelines_equal_one_process():
    from torch.distributed import pipelining

    for schedule, stages in ((pipelining.ScheduleGPipe, 1), (pipelining.Schedule1F1B, 1),
                             (pipelining.ScheduleInterleaved1F1B, 2)):
        for mine, whole in gradients_of_pipeline(schedule, stages):
            assert torch.allclose(mine, whole, atol=1e-6), schedule.__name__


def case_tensor_parallel_equals_one_process():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                                   parallelize_module)

    net = model()
    alone = copy.deepcopy(net)
    parallelize_module(net, init_device_mesh("cpu", (size,)),
                       {"0": ColwiseParallel(), "2": RowwiseParallel()})
    data = torch.randn(4, 16, generator=torch.Generator().manual_seed(3))
    results = [one(data) for one in (net, alone)]
    for result in results:
        result.pow(2).mean().backward()
    assert torch.allclose(*results, atol=1e-6)
    assert torch.allclose(net[0].weight.grad.full_tensor(), alone[0].weight.grad, atol=1e-6)


def case_ranks_with_less_data_join():
    from torch.distributed.algorithms.join import Join

    net = model()
    ddp = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(ddp.parameters(), 0.1)
    with Join([ddp]):
        for _ in range(2 + rank):
            optimizer.zero_grad()
            ddp(torch.ones(2, 16)).pow(2).mean().backward()
            optimizer.step()
    for parameter in net.parameters():
        gathered = [torch.empty_like(parameter) for _ in range(size)]
        dist.all_gather(gathered, parameter.detach())
        assert all(torch.equal(gathered[0], other) for other in gathered)


def case_coalesced_calls():
    for asynchronous in (False, True):
        tensors = [torch.full((5 + i,), float(rank)) for i in range(10)]
        with dist._coalescing_manager(async_ops=asynchronous) as work:
            for tensor in tensors:
                dist.all_reduce(tensor)
        if asynchronous:
            work.wait()
        assert all(tensor.unique().tolist() == [size * (size - 1) / 2] for tensor in tensors)


main(globals())
