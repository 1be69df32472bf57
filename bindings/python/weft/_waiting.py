# SPDX-License-Identifier: BSD-3-Clause
"""Calls that wait, such that signals are handled meanwhile.

Python runs the handlers of signals in its main thread, between calls into C. Collectives wait in
pieces (weft_call_t.patience, weft_request_wait_for). The few other calls that wait run in a thread
of their own, for which the main thread waits.
"""

from __future__ import annotations

import _thread
import os
import threading
from typing import Callable

from .errors import failure

# Seconds of a piece: the most by which a signal is handled late.
PIECE = 0.1


class Cancel:
    """The descriptor that ends a join (weft_comm_options_t.cancel_fd)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.fd = self._end = -1
        self.fd, self._end = os.pipe()

    def __call__(self) -> None:
        with self._lock:
            if self._end >= 0:
                os.close(self._end)
            self._end = -1

    @property
    def called(self) -> bool:
        return self._end < 0

    def during(self, join: Callable[[], int]) -> int:
        """Calls a function that uses the descriptor, and closes it afterwards."""
        try:
            return join()
        finally:
            self._close()

    def _close(self) -> None:
        self()
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self._close()  # of a join that never began


class Run:
    """A function that returns a status, in a thread of its own, where no signal is handled."""

    def __init__(self) -> None:
        self._outcome: list[BaseException | None] = []
        # Who takes it first decides whether the function is called: its thread, or end().
        self._begins = threading.Lock()
        # Not an Event: a handler that raises inside its wait() leaves its lock released twice, and
        # the caller gets RuntimeError in place of KeyboardInterrupt.
        self._ended = threading.Lock()
        self._ended.acquire()

    def start(self, function: Callable[[], int]) -> None:
        # Not a Thread: its start() waits for an Event.
        try:
            _thread.start_new_thread(self._run, (function,))
        except RuntimeError:
            # There is no thread to be had, as in Python 3.12 once the process ends: signals wait.
            self._run(function)

    def _run(self, function: Callable[[], int]) -> None:
        if not self._begins.acquire(blocking=False):
            return
        # The record of an error belongs to the thread that made the call.
        try:
            status = function()
            self._outcome.append(failure(status) if status < 0 else None)
        except BaseException as error:
            self._outcome.append(error)
        self._ended.release()

    def is_over(self, seconds: float) -> bool:
        """Waits for the end of the function, so long at most."""
        return bool(self._outcome) or self._ended.acquire(timeout=seconds)

    def end(self, seconds: float) -> bool:
        """The same, for who gives it up: a function that has not begun is not called any more."""
        if self._begins.acquire(blocking=False):
            self._outcome.append(None)
        return self.is_over(seconds)

    def raise_failure(self) -> None:
        if self._outcome[0] is not None:
            raise self._outcome[0]


def call(
    function: Callable[[], int],
    cancel: Callable[[], object] | None = None,
    left: list[Run] | None = None,
) -> None:
    """Runs a function that returns a status, and raises its failure.

    An exception of a handler, such as KeyboardInterrupt, ends the wait: `cancel` is called, and a
    function that does not return in a moment then is left to itself. `left` lists the functions
    that may still run.
    """
    if threading.current_thread() is not threading.main_thread():
        status = function()
        if status < 0:
            raise failure(status)
        return
    run = Run()
    # The handler may raise between any two lines.
    try:
        if left is not None:
            left.append(run)
        run.start(function)
        while not run.is_over(PIECE):
            pass
        if left is not None:
            left.remove(run)
    except BaseException:
        if cancel is not None:
            cancel()
        # What the function used can be destroyed when it has returned.
        run.end(PIECE)
        raise
    run.raise_failure()
