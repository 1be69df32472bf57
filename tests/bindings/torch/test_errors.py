# SPDX-License-Identifier: BSD-3-Clause
# ranks: 2
"""Mistakes and deaths: who, what, and how soon."""

import signal
import threading
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from job import join, main, raised
from weft.torch.groups import Engine

# Generous, because the machine may be busy; the page about torch has measured figures.
SOON = 5.0

rank, size = join()
other = 1 - rank


def fresh(seconds=60):
    """A group of its own: a failure ends a group."""
    group = dist.new_group(timeout=timedelta(seconds=seconds))
    dist.all_reduce(torch.ones(1), group=group)
    return group


def failing(function, *words):
    """The error of a call, which comes soon and has the words."""
    begin = time.monotonic()
    error = raised(function, dist.DistBackendError)
    took = time.monotonic() - begin
    assert took < SOON, took
    for word in words:
        assert word in str(error), (word, str(error))
    if rank == 0:
        print(f"  {took * 1000:.0f} ms: {error}", flush=True)
    return error


def case_different_sizes():
    group = fresh()
    error = failing(lambda: dist.all_reduce(torch.ones(4 if rank == 0 else 8), group=group),
                    "ERR_MISMATCH", "count", f"rank {other}")
    assert error.status.name == "ERR_MISMATCH"


def case_different_types():
    group = fresh()
    dtype = torch.float32 if rank == 0 else torch.float64
    failing(lambda: dist.all_reduce(torch.ones(4, dtype=dtype), group=group), "ERR_MISMATCH",
            f"rank {other}")


def case_different_operators():
    group = fresh()
    op = dist.ReduceOp.SUM if rank == 0 else dist.ReduceOp.MAX
    failing(lambda: dist.all_reduce(torch.ones(4), op=op, group=group), "ERR_MISMATCH",
            f"rank {other}")


def case_different_calls():
    group = fresh()
    if rank == 0:
        failing(lambda: dist.all_reduce(torch.ones(4), group=group), "rank 1")
    else:
        failing(lambda: dist.broadcast(torch.ones(4), 0, group=group), "rank 0")


def case_asynchronous_failures_come_with_wait_and_with_the_future():
    group = fresh()
    work = dist.all_reduce(torch.ones(4 if rank == 0 else 8), group=group, async_op=True)
    future = work.get_future()
    failing(work.wait, "ERR_MISMATCH")
    assert not work.is_success() and work.exception() is not None
    error = raised(future.wait, Exception)
    assert "ERR_MISMATCH" in str(error)
    # The group has failed: it says so for every call that follows.
    failing(lambda: dist.all_reduce(torch.ones(4), group=group), "ERR_MISMATCH")


def case_a_failure_in_the_backward_pass_of_ddp():
    """DDP's C++ takes the result out of the future; it must find the error in its place."""
    group = fresh()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1), process_group=group)
    if rank == 0:
        loss = model(torch.ones(1, 2)).sum()
        error = raised(loss.backward)
        assert "ERR_MISMATCH" in str(error) and "barrier" in str(error), error
    else:
        # By then rank 0 waits for the future.
        time.sleep(0.3)
        failing(lambda: dist.barrier(group), "ERR_MISMATCH", "barrier")


def case_a_call_that_one_rank_does_not_make():
    group = fresh(1)
    if rank == 0:
        failing(lambda: dist.barrier(group), " Timed out waiting 1000ms", "ERR_TIMEOUT")
    else:
        time.sleep(1.5)


def case_a_rank_that_does_not_join():
    """The timeout of the group is that of joining, too."""
    from weft.torch.channel import connect

    store = dist.HashStore()
    if rank == 0:
        failing(lambda: connect(store, 0, 2, "cpu", None, 1.0), "ERR_TIMEOUT", "did not join",
                "rank 1")


def case_an_abort_ends_joining():
    engine = Engine("weft", dist.HashStore(), rank, 2, 60.0)
    threading.Timer(0.3, engine.abort).start()
    failing(lambda: engine.channel(torch.device("cpu")), "ERR_ABORTED", "cancelled")


def case_rank_0_does_not_come():
    if rank == 1:
        engine = Engine("weft", dist.HashStore(), 1, 2, 0.5)
        failing(lambda: engine.channel(torch.device("cpu")), "ERR_TIMEOUT", "no id of rank 0")


def case_a_wait_with_a_limit_leaves_the_operation_alone():
    group = fresh()
    if rank == 0:
        tensor = torch.ones(3)
        work = dist.all_reduce(tensor, group=group, async_op=True)
        error = raised(lambda: work.wait(timedelta(seconds=0.1)))
        assert "Timed out" in str(error)
        dist.send(torch.zeros(1), 1)
        work.wait()
        assert tensor[0] == 2
    else:
        dist.recv(torch.empty(1), 0)
        dist.all_reduce(torch.ones(3), group=group)


def case_an_aborted_group_ends_a_wait():
    group = fresh()
    if rank == 0:
        work = dist.all_reduce(torch.ones(3), group=group, async_op=True)
        # Rank 1 may still be in the call of fresh(), which is not to fail.
        dist.recv(torch.empty(1), 1)
        group.abort()
        failing(work.wait, "ERR_ABORTED")
        dist.send(torch.zeros(1), 1)
    else:
        dist.send(torch.zeros(1), 0)
        dist.recv(torch.empty(1), 0)
        # What rank 0 gave to the first one may be here before the news of its end.
        failing(lambda: [dist.all_reduce(torch.ones(3), group=group) for _ in range(2)], "rank 0")


def case_a_signal_ends_a_wait():
    group = fresh()

    def on_alarm(number, frame):
        raise KeyboardInterrupt

    if rank == 0:
        signal.signal(signal.SIGALRM, on_alarm)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        begin = time.monotonic()
        raised(lambda: dist.all_reduce(torch.ones(3), group=group), KeyboardInterrupt)
        assert time.monotonic() - begin < SOON
        dist.send(torch.zeros(1), 1)
    else:
        dist.recv(torch.empty(1), 0)
        dist.all_reduce(torch.ones(3), group=group)


main(globals())
