# SPDX-License-Identifier: BSD-3-Clause
"""monitored_barrier: a barrier that says which ranks did not come, over torch's store.

It uses no communicator, so it can be asked while operations hang, and the group is as good after a
failure as before.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any


def monitored_barrier(store: Any, rank: int, size: int, number: int, timeout: float,
                      wait_all_ranks: bool) -> None:
    """The barrier with this number in the group; rank 0 collects the others and lets them go."""
    prefix = f"weft/monitored/{number}"
    if rank == 0:
        _collect(store, size, prefix, timeout, wait_all_ranks)
    else:
        store.set(f"{prefix}/{rank}", "here")
        _await_verdict(store, rank, prefix, timeout)


def _arrived(store: Any, key: str, deadline: float) -> bool:
    left = max(deadline - time.monotonic(), 0.001)
    try:
        store.wait([key], timedelta(seconds=left))
    except RuntimeError:
        return False
    return True


def _collect(store: Any, size: int, prefix: str, timeout: float, wait_all_ranks: bool) -> None:
    deadline = time.monotonic() + timeout
    missing = []
    for rank in range(1, size):
        if not _arrived(store, f"{prefix}/{rank}", deadline):
            missing.append(rank)
            if not wait_all_ranks:
                break
    if not missing:
        store.set(f"{prefix}/verdict", "go")
        return
    names = ", ".join(map(str, missing))
    store.set(f"{prefix}/verdict", names)
    if timeout <= 0:
        raise RuntimeError("weft: Rank 0 timed out in monitoredBarrier after 0 ms")
    raise RuntimeError(f"weft: Rank{'s' if len(missing) > 1 else ''} {names} failed to pass "
                       f"monitoredBarrier in {timeout * 1000:.0f} ms")


def _await_verdict(store: Any, rank: int, prefix: str, timeout: float) -> None:
    # Rank 0 may begin later than this rank, and then waits for as long again.
    verdict = "no verdict"
    if _arrived(store, f"{prefix}/verdict", time.monotonic() + 2 * timeout + 1):
        verdict = store.get(f"{prefix}/verdict").decode()
        if verdict == "go":
            return
        verdict = f"rank {verdict} did not come"
    raise RuntimeError(f"weft: Rank {rank} successfully reached monitoredBarrier, but received "
                       f"errors while waiting for send/recv from rank 0 ({verdict}). Please check "
                       "rank 0 logs for faulty rank.")
