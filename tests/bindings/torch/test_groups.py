# SPDX-License-Identifier: BSD-3-Clause
# ranks: 3
"""Groups: of members only, split, of two backends, watched by torch, and the end of them."""

import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from job import join, main, raised

rank, size = join()
# Where Backend cannot be derived from, a group is weft's alone.
mixes = hasattr(dist.Backend, "_ensure_backend_registered")


def total(group=None):
    tensor = torch.ones(4) * (rank + 1)
    dist.all_reduce(tensor, group=group)
    return tensor[0].item()


class Seen:
    """A store that keeps what was set last."""

    value = ""

    def __init__(self, store):
        self.store = store

    def set(self, key, value):
        Seen.value = value
        self.store.set(key, value)

    def delete_key(self, key):
        return self.store.delete_key(key)


def case_a_store_that_has_served_before():
    """torch keeps its store when the default group is destroyed, and uses it for the next one."""
    from weft.torch.channel import connect

    store = dist.PrefixStore("again", dist.distributed_c10d._get_default_store())
    for lap in range(3):
        if rank == 0 and lap > 0:
            if lap == 2:
                store.set("weft/cpu", Seen.value)  # as where it was not deleted in time
            time.sleep(0.5)  # rank 1 finds what there is
        channel = connect(Seen(store) if rank == 0 else store, rank, size, "cpu", None, 20.0)
        channel.close()


def case_members_make_a_group_without_the_others():
    if rank == 2:
        dist.new_group([0, 1])
    else:
        group = dist.new_group([0, 1])
        assert total(group) == 3
        assert dist.get_rank(group) == rank
        dist.destroy_process_group(group)


def case_groups_that_overlap():
    pairs = [dist.new_group(pair) for pair in ([0, 1], [1, 2], [0, 2])]
    for pair, expected in zip(pairs, (3, 5, 4)):
        if dist.get_rank(pair) >= 0:
            assert total(pair) == expected


def case_ranks_keep_the_order_of_the_list():
    group = dist.new_group([0, 1, 2], timeout=timedelta(seconds=20))
    gathered = [torch.empty(1) for _ in range(size)]
    dist.all_gather(gathered, torch.tensor([float(rank)]), group=group)
    assert [tensor.item() for tensor in gathered] == [0, 1, 2]


def case_a_group_is_split():
    if not mixes:
        return
    child = dist.split_group(split_ranks=[[0, 2]])
    if rank == 1:
        assert child is None or child == dist.GroupMember.NON_GROUP_MEMBER
    else:
        assert total(child) == 4


def case_gloo_and_weft_side_by_side():
    group = dist.new_group(backend="gloo")
    assert total(group) == total() == 6
    if mixes:
        group = dist.new_group(backend="cpu:weft,cuda:gloo")
        assert total(group) == 6
        work = dist.all_reduce(torch.ones(2), group=group, async_op=True)
        work.wait()


def case_torch_checks_every_call_in_debug_mode():
    if not mixes:
        return
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    group = dist.new_group()
    dist.set_debug_level(dist.DebugLevel.OFF)
    assert total(group) == 6


def case_a_monitored_barrier_names_who_is_missing():
    group = dist.new_group()
    group.monitored_barrier(timedelta(seconds=20))
    if rank == 0:
        error = raised(lambda: group.monitored_barrier(timedelta(seconds=0.5), wait_all_ranks=True))
        assert "Ranks 1, 2 failed to pass monitoredBarrier" in str(error)


def case_a_destroyed_group_refuses_calls():
    group = dist.new_group()
    total(group)
    dist.barrier()
    dist.destroy_process_group(group)
    raised(lambda: group.allreduce([torch.ones(1)]))


def case_a_forked_child_is_refused_and_the_parent_goes_on():
    child = os.fork()
    if child == 0:
        try:
            total()
        except RuntimeError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert total() == 6


main(globals())
