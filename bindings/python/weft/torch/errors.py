# SPDX-License-Identifier: BSD-3-Clause
"""Failures of weft as torch's exceptions."""

from __future__ import annotations

import ctypes

import torch.distributed as dist

from .._library import Error, Status, lib


class WeftBackendError(dist.DistBackendError):
    """A failed call. The text names the ranks and what differs; the fields say it to programs.

    status: the Status of weft. rank, peer: the rank that reports, and the one that caused it, or
    -1. host: that one's host. sequence: number of the operation in its communicator, or 0.
    """

    def __init__(self, text: str, status: int, record: Error) -> None:
        super().__init__(text)
        self.status = Status(status)
        self.rank = record.rank
        self.peer = record.peer
        self.host = record.peer_host.decode(errors="replace")
        self.sequence = record.sequence


def _record(status: int, comm: ctypes.c_void_p | None) -> Error:
    """The library's record of a failure: the thread's if it fits, else the communicator's."""
    record = Error()
    lib.weft_last_error(ctypes.byref(record))
    if record.status != status and comm:
        lib.weft_comm_error(comm, ctypes.byref(record))
    return record


def failure(status: int, what: str, comm: ctypes.c_void_p | None = None,
            timeout: float | None = None) -> WeftBackendError:
    """The exception for a status. Call it in the thread that got the status, before other calls."""
    record = _record(status, comm)
    text = record.text.decode(errors="replace") or lib.weft_status_text(status).decode()
    waited = ""
    if status == Status.ERR_TIMEOUT and timeout is not None and timeout > 0:
        # torch's tests and users look for these words.
        waited = f"Timed out waiting {timeout * 1000:.0f}ms: "
    name = lib.weft_status_name(status).decode()
    return WeftBackendError(f"weft {what}: {waited}{name}: {text}", status, record)


def check(status: int, what: str, comm: ctypes.c_void_p | None = None) -> None:
    if status != 0:
        raise failure(status, what, comm)
