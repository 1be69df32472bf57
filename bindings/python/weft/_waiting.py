# SPDX-License-Identifier: BSD-3-Clause
"""Calls that wait, such that signals are handled meanwhile.

Python runs the handlers of signals in its main thread, between calls into C. Collectives wait in
pieces (weft_call_t.patience, weft_request_wait_for). The few other calls that wait run in a thread
of their own, for which the main thread waits.
"""

from __future__ import annotations

import threading
from typing import Callable

from .errors import WeftError, failure

# Seconds of a piece: the most by which a signal is handled late.
PIECE = 0.1


def call(function: Callable[[], int], cancel: Callable[[], object] | None = None) -> None:
    """Runs a function that returns a status, and raises its failure.

    An exception of a handler, such as KeyboardInterrupt, ends the wait: `cancel` is called and the
    function is left to itself.
    """
    if threading.current_thread() is not threading.main_thread():
        status = function()
        if status < 0:
            raise failure(status)
        return
    outcome: list[WeftError | None] = []
    ended = threading.Event()

    def run() -> None:
        # The record of an error belongs to the thread that made the call.
        status = function()
        outcome.append(failure(status) if status < 0 else None)
        ended.set()

    threading.Thread(target=run, name="weft-call", daemon=True).start()
    try:
        while not ended.wait(PIECE):
            pass
    except BaseException:
        if cancel is not None:
            cancel()
        raise
    if outcome[0] is not None:
        raise outcome[0]
