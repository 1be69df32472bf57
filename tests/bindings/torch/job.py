# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts of these tests share: joining, and cases by name."""

import os
import sys
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist

torch.set_num_threads(1)


def join(backend="weft", seconds=60):
    """init_process_group; a torch without entry points needs the import."""
    if not hasattr(dist.Backend, "_ensure_backend_registered"):
        import weft.torch  # noqa: F401
    dist.init_process_group(backend, timeout=timedelta(seconds=seconds))
    return dist.get_rank(), dist.get_world_size()


def raised(function, *kinds):
    """The exception that a call raises, which must be one of the kinds."""
    try:
        function()
    except kinds or (RuntimeError,) as error:
        return error
    raise AssertionError(f"{function} raised nothing")


def run(cases):
    """Runs the functions in order, and leaves the job; any failure ends this process."""
    rank = int(os.environ["RANK"])
    for case in cases:
        try:
            case()
        except BaseException:
            traceback.print_exc()
            print(f"rank {rank}: {case.__name__} failed", flush=True)
            os._exit(1)
        if rank == 0:
            print(f"ok {case.__name__}", flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()


def main(namespace):
    """Runs all functions of a script whose names begin with "case_"."""
    run([value for name, value in list(namespace.items()) if name.startswith("case_")])
    sys.exit(0)
