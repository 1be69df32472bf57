# SPDX-License-Identifier: BSD-3-Clause
"""Calls that wait, such that signals are handled meanwhile.

Python runs the handlers of signals in its main thread, between calls into C. Collectives wait in
pieces (weft_call_t.patience, weft_request_wait_for). The few other calls that wait run in a thread
of their own, for which the main thread waits.
"""

from __future__ import annotations

import os
import threading
from typing import Callable

from .errors import failure

# Seconds of a piece: the most by which a signal is handled late.
PIECE = 0.1


class Cancel:
    """The descriptor that ends a join (weft_comm_options_t.cancel_fd)."""

    def __init__(self) -> None:
        self.fd, self._end = os.pipe()
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            if self._end >= 0:
                os.close(self._end)
            self._end = -1

    def during(self, join: Callable[[], int]) -> int:
        """Calls a function that uses the descriptor, and closes it afterwards."""
        try:
            return join()
        finally:
            self()
            os.close(self.fd)


def call(
    function: Callable[[], int],
    cancel: Callable[[], object] | None = None,
    left: list[threading.Thread] | None = None,
) -> None:
    """Runs a function that returns a status, and raises its failure.

    An exception of a handler, such as KeyboardInterrupt, ends the wait: `cancel` is called, and a
    function that does not return in a moment then is left to itself; its thread is appended to
    `left`.
    """
    if threading.current_thread() is not threading.main_thread():
        status = function()
        if status < 0:
            raise failure(status)
        return
    outcome: list[BaseException | None] = []
    # Not an Event: a handler that raises inside its wait() leaves its lock released twice, and the
    # caller gets RuntimeError in place of KeyboardInterrupt.
    ended = threading.Lock()
    ended.acquire()

    def run() -> None:
        # The record of an error belongs to the thread that made the call.
        try:
            status = function()
            outcome.append(failure(status) if status < 0 else None)
        except BaseException as error:
            outcome.append(error)
        ended.release()

    thread = threading.Thread(target=run, name="weft-call", daemon=True)
    thread.start()
    try:
        while not ended.acquire(timeout=PIECE):
            pass
    except BaseException:
        if left is not None:
            left.append(thread)
        if cancel is not None:
            cancel()
            # What it used can be destroyed when it has returned.
            ended.acquire(timeout=PIECE)
        raise
    if outcome[0] is not None:
        raise outcome[0]
