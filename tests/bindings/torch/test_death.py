# SPDX-License-Identifier: BSD-3-Clause
# ranks: 2
# dies: 1
"""A rank is killed: the other one says who it was."""

import os
import signal
import time

import torch
import torch.distributed as dist
from job import join, raised

rank, size = join()


def steps():
    dist.all_reduce(torch.ones(4))  # the dead one is through it; the other one may not be
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    for _ in range(2):
        dist.all_reduce(torch.ones(4))


begin = time.monotonic()
error = raised(steps, dist.DistBackendError)
took = time.monotonic() - begin
print(f"{took * 1000:.0f} ms: {error}", flush=True)
assert took < 5
assert "ERR_PEER_DEAD: rank 1 of host" in str(error) and error.peer == 1
assert str(dist.group.WORLD.get_error()) == "ErrorType.REMOTE_ERROR"
os._exit(0)
