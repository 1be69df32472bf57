# SPDX-License-Identifier: BSD-3-Clause
"""Operations under way, and the end of each: torch's Work."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

_enter = torch._C._autograd._record_function_with_args_enter if hasattr(
    torch._C._autograd, "_record_function_with_args_enter") else (
    torch.autograd._record_function_with_args_enter)
_exit = torch._C._autograd._record_function_with_args_exit if hasattr(
    torch._C._autograd, "_record_function_with_args_exit") else (
    torch.autograd._record_function_with_args_exit)
_profiler = torch.autograd.profiler


def profiled() -> bool:
    return _profiler._is_profiler_enabled


def begin_event(title: str, inputs: Sequence[torch.Tensor]) -> Any:
    """Begins an event of torch's profiler with the shapes of the inputs; Work ends it."""
    return _enter(title, *inputs)


class Work(dist._Work):
    """One operation, or several that are one to the caller.

    It ends once: the profiler's event first, then the future, then those who wait. The profiler's
    state may be gone when a waiter goes on, and a future's callbacks belong to the operation.

    torch's C++ takes an exception that Python sets in a future for a result, and DDP crashes on it.
    One that a callback raises is an error there as well. So the end of the work sets a trigger, and
    the future is that of its callback.
    """

    def __init__(self, result: list[torch.Tensor], sequence: int = 0, event: Any = None) -> None:
        super().__init__()
        self._result = result
        self._sequence = sequence
        self._event = event
        self._trigger: torch.futures.Future | None = None
        self._future: torch.futures.Future | None = None
        self._error: BaseException | None = None
        self._ended = False
        self._source_number: Any = None
        # Who ends the work lets it go; who waits takes it and lets it go for the next.
        self._latch = threading.Lock()
        self._latch.acquire()
        self._guard = threading.Lock()
        # What weft has of it, until it ends: claim(), wait(), test() and want().
        self.pending: Any = None

    def end(self, error: BaseException | None = None) -> None:
        self._error = error
        if self._event is not None:
            _exit(self._event)
            self._event = None
        with self._guard:
            self._ended = True
            trigger = self._trigger
        if trigger is not None:
            trigger.set_result(None)
        self.pending = None
        self._latch.release()

    def _outcome(self, _: torch.futures.Future) -> list[torch.Tensor]:
        if self._error is not None:
            raise self._error
        return self._result

    def wait(self, timeout: timedelta | None = None) -> bool:
        seconds = timeout.total_seconds() if timeout is not None else 0
        pending = self.pending
        if pending is None:
            ended = self._latch.acquire(timeout=seconds if seconds > 0 else -1)
        elif pending.claim():
            pending.wait(seconds)
            ended = self._latch.acquire(blocking=False)
        else:
            pending.want()
            ended = self._latch.acquire(timeout=seconds if seconds > 0 else -1)
        if not ended:
            raise RuntimeError(f"weft: Timed out waiting {seconds * 1000:.0f}ms for an operation, "
                               "which goes on: Operation timed out!")
        self._latch.release()
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        pending = self.pending
        if not self._ended and pending is not None:
            pending.test()
        return self._ended

    def is_success(self) -> bool:
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        return self._error

    def result(self) -> list[torch.Tensor]:
        return self._result

    def synchronize(self) -> None:
        """The results of host memory are there when the work has ended."""

    def source_rank(self) -> int:
        if self._source_number is None:
            raise RuntimeError("weft: this operation is no receive")
        return self._source_number.value

    _source_rank = source_rank

    def get_future(self) -> torch.futures.Future:
        with self._guard:
            if self._future is not None:
                return self._future
            self._trigger = trigger = torch.futures.Future()
            self._future = future = trigger.then(self._outcome)
            ended, pending = self._ended, self.pending
        if ended:
            trigger.set_result(None)
        elif pending is not None:
            pending.want()
        return future

    getFuture = get_future

    def get_future_result(self) -> torch.futures.Future:
        """A future of 0 if the operation succeeded, and of a number of torch's WorkResult else."""
        def verdict(future: torch.futures.Future) -> int:
            try:
                future.value()
            except Exception as error:
                return 1 if "Timed out" in str(error) else 2
            return 0
        return self.get_future().then(verdict)

    def _get_sequence_number(self) -> int:
        return self._sequence


class Done(dist._Work):
    """An operation that was complete when its call returned."""

    def __init__(self, result: list[torch.Tensor]) -> None:
        super().__init__()
        self._result = result

    def wait(self, timeout: timedelta | None = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    is_success = is_completed

    def exception(self) -> None:
        return None

    def result(self) -> list[torch.Tensor]:
        return self._result

    def synchronize(self) -> None:
        pass

    def get_future(self) -> torch.futures.Future:
        future = torch.futures.Future()
        future.set_result(self._result)
        return future

    getFuture = get_future


DONE = Done([])


class StreamWork(dist._Work):
    """An operation in a stream of a device: who waits puts his stream behind it."""

    def __init__(self, result: list[torch.Tensor], stream: Any, blocks_host: bool,
                 sequence: int = 0) -> None:
        super().__init__()
        self._result = result
        self._stream = stream
        self._blocks_host = blocks_host
        self._sequence = sequence
        self._done = torch.cuda.Event()
        self._done.record(stream)

    def wait(self, timeout: timedelta | None = None) -> bool:
        current = torch.cuda.current_stream(self._stream.device)
        self._done.wait(current)
        if self._blocks_host:
            self._done.synchronize()
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self._done.query()

    is_success = is_completed

    def exception(self) -> None:
        return None

    def result(self) -> list[torch.Tensor]:
        return self._result

    def get_future(self) -> torch.futures.Future:
        future = torch.futures.Future(devices=[self._stream.device])
        with torch.cuda.stream(self._stream):
            future.set_result(self._result)
        return future

    getFuture = get_future

    def _get_sequence_number(self) -> int:
        return self._sequence


