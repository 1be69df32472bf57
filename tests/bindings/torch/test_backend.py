# SPDX-License-Identifier: BSD-3-Clause
# ranks: 3
"""Every method of the backend, on host memory, with results that are computed here."""

import torch
import torch.distributed as dist
from job import join, main, raised

rank, size = join()
everyone = range(size)

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


def mine(count, dtype, seed=0):
    """Numbers that tell the ranks apart and are exact in every type."""
    return ((torch.arange(count) + 2 * rank + seed) % 4 + 1).to(dtype)


def theirs(count, dtype, seed=0):
    return [((torch.arange(count) + 2 * r + seed) % 4 + 1).to(dtype) for r in everyone]


def reduced(tensors, op):
    stacked = torch.stack([tensor.to(torch.float64) for tensor in tensors])
    return {dist.ReduceOp.SUM: stacked.sum(0), dist.ReduceOp.PRODUCT: stacked.prod(0),
            dist.ReduceOp.MIN: stacked.amin(0), dist.ReduceOp.MAX: stacked.amax(0),
            dist.ReduceOp.AVG: stacked.mean(0)}[op]


def case_the_group_says_that_it_is_weft():
    assert dist.get_backend() == "weft"


def case_all_reduce_of_every_type_and_operator():
    for dtype in FLOATS + INTEGERS:
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX):
            for count in (0, 1, 1000):
                tensor = mine(count, dtype)
                dist.all_reduce(tensor, op=op)
                assert torch.equal(tensor, reduced(theirs(count, dtype), op).to(dtype)), (dtype, op)


def case_all_reduce_of_averages_and_factors():
    tensor = mine(10, torch.float32)
    dist.all_reduce(tensor, op=dist.ReduceOp.AVG)
    assert torch.allclose(tensor, reduced(theirs(10, torch.float32), dist.ReduceOp.AVG).float())
    tensor = mine(10, torch.float32)
    dist.all_reduce(tensor, op=dist._make_nccl_premul_sum(0.5))
    assert torch.equal(tensor, 0.5 * sum(theirs(10, torch.float32)))
    tensor = torch.tensor([3, -1], dtype=torch.int8)
    dist.all_reduce(tensor, op=dist._make_nccl_premul_sum(-2.0))
    assert tensor.tolist() == [-6 * size, 2 * size]
    for factor in (0.1, 1e300):  # no elements of torch's default type
        tensor = torch.ones(1, dtype=torch.float64)
        dist.all_reduce(tensor, op=dist._make_nccl_premul_sum(factor))
        assert tensor.item() == size * factor


def case_a_factor_that_the_type_does_not_have_is_refused():
    for dtype, factor in ((torch.int64, 0.5), (torch.int8, 300.0), (torch.uint8, -1.0),
                          (torch.int32, float("nan")), (torch.float16, 1e6),
                          (torch.float8_e4m3fn, 1000.0)):
        tensor = torch.ones(2).to(dtype)
        op = dist._make_nccl_premul_sum(factor)
        error = raised(lambda: dist.all_reduce(tensor, op=op), ValueError)
        assert str(factor) in str(error) and str(dtype) in str(error), error
    for factor in (float("inf"), float("nan"), 0.1):
        dist.all_reduce(torch.ones(2, dtype=torch.float16), op=dist._make_nccl_premul_sum(factor))


def case_all_reduce_of_truth_values():
    tensor = torch.tensor([True, rank == 0, False])
    dist.all_reduce(tensor)
    assert tensor.tolist() == [True, True, False]
    tensor = torch.tensor([True, rank == 0, False])
    dist.all_reduce(tensor, op=dist.ReduceOp.MIN)
    assert tensor.tolist() == [True, False, False]


def case_all_reduce_of_tensors_with_gaps():
    tensor = torch.zeros(6, 4)
    tensor[:, 1] = rank + 1
    dist.all_reduce(tensor[:, 1])
    assert tensor[:, 1].tolist() == [sum(range(1, size + 1))] * 6 and tensor[:, 0].sum() == 0
    tensor = torch.full((2, 3), float(rank)).t()
    dist.all_reduce(tensor)
    assert tensor.tolist() == [[sum(everyone)] * 2] * 3


def case_all_reduce_of_complex_numbers():
    tensor = torch.tensor([1 + 2j]) * (rank + 1)
    dist.all_reduce(tensor)
    assert tensor.item() == (1 + 2j) * sum(range(1, size + 1))


def lazy(values):
    """A tensor of these values that torch has yet to negate. Conjugated ones it refuses itself."""
    tensor = torch._neg_view(-torch.tensor(values))
    assert tensor.is_neg() and tensor.tolist() == values
    return tensor


def case_tensors_that_are_yet_to_be_negated():
    mine, none, many = [1.0, -2.0], [0.0, 0.0], [1.0, -2.0] * size
    tensor = lazy(mine if rank == 0 else none)
    dist.broadcast(tensor, 0)
    assert tensor.tolist() == mine
    for start in (False, True):
        tensor = lazy(mine)
        work = dist.all_reduce(tensor, async_op=start)
        work is None or work.wait()
        assert tensor.tolist() == [size * 1.0, size * -2.0]
    tensor = lazy(mine)
    dist.reduce(tensor, 0)
    assert rank != 0 or tensor.tolist() == [size * 1.0, size * -2.0]
    parts = [lazy(none) for _ in everyone]
    dist.all_gather(parts, lazy(mine))
    assert [part.tolist() for part in parts] == [mine] * size
    whole = lazy(none * size)
    dist.all_gather_into_tensor(whole, lazy(mine))
    assert whole.tolist() == many
    part = lazy(none)
    dist.reduce_scatter_tensor(part, lazy(many))
    assert part.tolist() == [size * 1.0, size * -2.0]
    part = lazy(none)
    dist.reduce_scatter(part, [lazy(mine) for _ in everyone])
    assert part.tolist() == [size * 1.0, size * -2.0]
    whole = lazy(none * size)
    dist.all_to_all_single(whole, lazy(many))
    assert whole.tolist() == many
    parts = [lazy(none) for _ in everyone]
    dist.all_to_all(parts, [lazy(mine) for _ in everyone])
    assert [part.tolist() for part in parts] == [mine] * size
    tensor = lazy(none)
    dist.scatter(tensor, [lazy(mine) for _ in everyone] if rank == 0 else None, 0)
    assert tensor.tolist() == mine
    if rank == 0:
        for peer in range(1, size):
            dist.send(lazy(mine), peer)
    else:
        tensor = lazy(none)
        dist.recv(tensor, 0)
        assert tensor.tolist() == mine


def case_lazy_tensors_are_refused_where_nothing_is_copied():
    from weft.arrays import describe

    for tensor, name in ((torch.ones(2, dtype=torch.complex64).conj(), "conj"),
                         (lazy([1.0]), "neg")):
        error = raised(lambda tensor=tensor: describe(tensor, "send", False), ValueError)
        assert str(error).startswith("send: ") and f"resolve_{name}()" in str(error), error
        describe(getattr(tensor, f"resolve_{name}")(), "send", True)


def case_a_negative_split_is_named():
    splits = [-1, *[0] * (size - 2), 5]
    error = raised(lambda: dist.all_to_all_single(torch.empty(4), torch.empty(4), splits, splits),
                   ValueError)
    assert "is negative" in str(error) and "-1" in str(error), error


def case_all_reduce_of_several_tensors_at_once():
    tensors = [mine(5, torch.float32), mine(7, torch.float32)]
    dist.distributed_c10d.all_reduce_coalesced(tensors)
    for tensor, count in zip(tensors, (5, 7)):
        assert torch.equal(tensor, sum(theirs(count, torch.float32)))


def case_broadcast_moves_any_type():
    for dtype in FLOATS + INTEGERS + (torch.bool, torch.complex64, torch.float8_e4m3fn):
        for root in everyone:
            tensor = torch.tensor([1, 0, rank]).to(dtype)
            dist.broadcast(tensor, root)
            assert torch.equal(tensor.to(torch.complex64),
                               torch.tensor([1, 0, root]).to(dtype).to(torch.complex64)), dtype


def case_reduce_to_each_root():
    for root in everyone:
        tensor = mine(9, torch.float32)
        dist.reduce(tensor, root)
        assert rank != root or torch.equal(tensor, sum(theirs(9, torch.float32)))


def case_all_gather_into_lists_and_tensors():
    parts = [torch.empty(4) for _ in everyone]
    dist.all_gather(parts, mine(4, torch.float32))
    assert all(torch.equal(a, b) for a, b in zip(parts, theirs(4, torch.float32)))
    whole = torch.empty(size * 4)
    dist.all_gather(list(whole.chunk(size)), mine(4, torch.float32))
    assert torch.equal(whole, torch.cat(theirs(4, torch.float32)))
    whole = torch.empty(size, 4)
    dist.all_gather_into_tensor(whole, mine(4, torch.float32))
    assert torch.equal(whole, torch.stack(theirs(4, torch.float32)))


def case_all_gather_of_different_sizes():
    parts = [torch.empty(r + 1) for r in everyone]
    dist.all_gather(parts, torch.full((rank + 1,), float(rank)))
    assert [part.tolist() for part in parts] == [[float(r)] * (r + 1) for r in everyone]


def case_reduce_scatter_of_lists_and_tensors():
    blocks = [mine(3, torch.float32, seed=7 * r) for r in everyone]
    expected = sum(theirs(3, torch.float32, seed=7 * rank))
    output = torch.empty(3)
    dist.reduce_scatter(output, blocks)
    assert torch.equal(output, expected)
    output = torch.empty(3)
    dist.reduce_scatter_tensor(output, torch.cat(blocks))
    assert torch.equal(output, expected)
    output = torch.empty(rank + 1)
    dist.reduce_scatter(output, [torch.full((r + 1,), 2.0) for r in everyone])
    assert output.tolist() == [2.0 * size] * (rank + 1)


def case_gather_and_scatter():
    for root in everyone:
        parts = [torch.empty(2) for _ in everyone] if rank == root else None
        dist.gather(mine(2, torch.float32), parts, dst=root)
        assert rank != root or all(map(torch.equal, parts, theirs(2, torch.float32)))
        output = torch.empty(2)
        parts = [torch.full((2,), float(r)) for r in everyone] if rank == root else None
        dist.scatter(output, parts, src=root)
        assert output.tolist() == [float(rank)] * 2


def case_all_to_all_of_lists_and_tensors():
    output, tensor = torch.empty(2 * size), torch.arange(2.0 * size) + 100 * rank
    dist.all_to_all_single(output, tensor)
    assert output.tolist() == [100.0 * r + 2 * rank + i for r in everyone for i in range(2)]
    sends, receives = [r + 1 for r in everyone], [rank + 1] * size
    output = torch.empty(sum(receives), 3)
    dist.all_to_all_single(output, torch.full((sum(sends), 3), float(rank)), receives, sends)
    assert output[:, 0].tolist() == [float(r) for r in everyone for _ in range(rank + 1)]
    outputs = [torch.empty(rank + 1) for _ in everyone]
    dist.all_to_all(outputs, [torch.full((r + 1,), float(10 * rank + r)) for r in everyone])
    assert [part.tolist() for part in outputs] == [[10.0 * r + rank] * (rank + 1) for r in everyone]


def case_coalesced_calls_run_as_one():
    tensors = [mine(4, torch.float32) for _ in range(3)]
    with dist._coalescing_manager():
        for tensor in tensors:
            dist.all_reduce(tensor)
    assert all(torch.equal(tensor, sum(theirs(4, torch.float32))) for tensor in tensors)
    outputs = [torch.empty(4 * size) for _ in range(2)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for output in outputs:
            dist.all_gather_into_tensor(output, mine(4, torch.float32))
    manager.wait()
    assert all(torch.equal(output, torch.cat(theirs(4, torch.float32))) for output in outputs)
    tensor, other = mine(4, torch.float32), torch.full((2,), float(rank))
    with dist._coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
        dist.broadcast(tensor, 1)
        dist.broadcast(other, 0)
    manager.wait()
    assert torch.equal(tensor, theirs(4, torch.float32)[1]) and other.tolist() == [0.0, 0.0]


def case_objects():
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": r} for r in everyone]
    objects = ["here", rank] if rank == 0 else [None, None]
    dist.broadcast_object_list(objects, 0)
    assert objects == ["here", 0]


def case_barriers():
    dist.barrier()
    dist.barrier(async_op=True).wait()
    if hasattr(dist.group.WORLD, "monitored_barrier"):
        dist.group.WORLD.monitored_barrier()


def case_a_work_tells_how_it_stands():
    work = dist.all_reduce(torch.ones(3), async_op=True)
    assert work.wait() is True and work.is_completed() and work.is_success()
    assert work.exception() is None
    assert work.result()[0].tolist() == [float(size)] * 3
    assert work.get_future().wait()[0].tolist() == [float(size)] * 3
    assert work._get_sequence_number() > 0


def case_events_of_the_profiler():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                record_shapes=True) as profile:
        dist.all_reduce(torch.ones(3, 5))
        dist.broadcast(torch.ones(2), 0, async_op=True).wait()
    events = {event.name: event for event in profile.events()}
    assert events["weft:all_reduce"].input_shapes == [[3, 5]]
    assert events["weft:all_reduce"].is_async and "weft:broadcast" in events


def case_what_is_refused_is_named():
    error = raised(lambda: dist.all_reduce(torch.ones(4).to_sparse()), Exception)
    assert "sparse" in str(error)
    error = raised(lambda: dist.all_gather([torch.ones(2)] * (size + 1), torch.ones(2)), ValueError)
    assert "all_gather" in str(error)
    error = raised(lambda: dist.all_gather_into_tensor(torch.ones(5), torch.ones(2)), Exception)
    assert "size" in str(error)


def case_all_reduce_of_bits():
    for dtype in INTEGERS:
        tensor = torch.tensor([12 + rank, 3], dtype=dtype)
        both = tensor.clone()
        dist.all_reduce(tensor, op=dist.ReduceOp.BAND)
        dist.all_reduce(both, op=dist.ReduceOp.BOR)
        assert tensor.tolist() == [12, 3] and both.tolist() == [15, 3], dtype
        tensor = torch.tensor([1 << rank, 1], dtype=dtype)
        dist.all_reduce(tensor, op=dist.ReduceOp.BXOR)
        assert tensor.tolist() == [(1 << size) - 1, size % 2]
    error = raised(lambda: dist.all_reduce(torch.ones(2), op=dist.ReduceOp.BAND))
    assert "BAND" in str(error)


main(globals())
