# SPDX-License-Identifier: BSD-3-Clause
# ranks: 2
"""A handler that raises, as that of Ctrl-C does, ends the calls that wait for other ranks."""

import signal
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import weft
from job import join, main, raised
from weft.torch import channel

# Generous, because the machine may be busy.
SOON = 5.0

rank, size = join()


def interrupted(function):
    """Makes a call that only a signal ends."""

    def on_alarm(number, frame):
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    begin = time.monotonic()
    raised(function, KeyboardInterrupt)
    took = time.monotonic() - begin
    assert took < SOON, took


def case_joining():
    """The other rank never comes, neither in time nor at all."""
    interrupted(lambda: channel.connect(dist.HashStore(), rank, 2, "cpu", None, 60))
    dist.barrier()


def case_leaving_with_an_operation_under_way():
    group = dist.new_group(timeout=timedelta(seconds=60))
    dist.barrier(group)
    if rank == 0:
        work = dist.all_reduce(torch.ones(3), group=group, async_op=True)
        interrupted(lambda: dist.destroy_process_group(group))
        raised(work.wait, dist.DistBackendError)
    dist.barrier()


def late(name):
    """A communicator of both ranks, beside those of groups."""
    store = dist.PrefixStore(name, dist.distributed_c10d._get_default_store())
    return channel.connect(store, rank, 2, "cpu", None, SOON)


def case_joined_when_the_handler_raises():
    """Nobody has what was made: it ends, and the other rank is told."""
    call = channel._waiting.call

    def call_and_raise(*args):
        call(*args)
        raise KeyboardInterrupt

    if rank == 0:
        channel._waiting.call = call_and_raise
        raised(lambda: late("nobody's"), KeyboardInterrupt)
        channel._waiting.call = call
    else:
        end = late("nobody's")
        error = raised(lambda: end.split(0, 0, SOON), dist.DistBackendError)
        assert "ERR_PEER_LEFT" in str(error), error
        end.close()
    dist.barrier()


def case_a_communicator_that_cannot_be_left_is_kept():
    end, destroy = late("kept"), channel.lib.weft_comm_destroy
    channel.lib.weft_comm_destroy = lambda comm: int(weft.Status.ERR_STATE)
    end.close()
    assert end.comm is not None
    channel.lib.weft_comm_destroy = destroy
    end.close()
    assert end.comm is None
    dist.barrier()


def case_making_a_group():
    """This is the last case: it ends the default group."""
    if rank == 0:
        interrupted(lambda: dist.new_group([0, 1]))
    else:
        error = raised(dist.barrier, dist.DistBackendError)
        assert "rank 0" in str(error), error


main(globals())
