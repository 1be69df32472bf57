# SPDX-License-Identifier: BSD-3-Clause
# ranks: 2
"""A handler that raises, as that of Ctrl-C does, ends the calls that wait for other ranks."""

import signal
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from job import join, main, raised

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
    from weft.torch.channel import connect

    interrupted(lambda: connect(dist.HashStore(), rank, 2, "cpu", None, 60))
    dist.barrier()


def case_leaving_with_an_operation_under_way():
    group = dist.new_group(timeout=timedelta(seconds=60))
    dist.barrier(group)
    if rank == 0:
        work = dist.all_reduce(torch.ones(3), group=group, async_op=True)
        interrupted(lambda: dist.destroy_process_group(group))
        raised(work.wait, dist.DistBackendError)
    dist.barrier()


def case_making_a_group():
    """This is the last case: it ends the default group."""
    if rank == 0:
        interrupted(lambda: dist.new_group([0, 1]))
    else:
        error = raised(dist.barrier, dist.DistBackendError)
        assert "rank 0" in str(error), error


main(globals())
