# SPDX-License-Identifier: BSD-3-Clause
"""Operations under way: places for their C structs, requests, groups."""

from __future__ import annotations

import asyncio
import ctypes
import math
import threading
import time
from types import TracebackType
import weakref
from typing import TYPE_CHECKING, Any, Callable, Generator

from . import arrays
from ._bound import Bound
from ._dtypes import CTYPES, SIZES
from ._library import Call, Dtype, Status, lib
from ._waiting import PIECE
from .errors import WeftError, cancelled, failure

if TYPE_CHECKING:
    from .communicator import Communicator

_DONE = (Status.IN_PROGRESS, Status.AGAIN)


class Slot:
    """The C side of one operation: its options, its request, the place of a sender's rank."""

    __slots__ = ("call", "call_p", "request", "request_p", "source", "keep", "waiter")

    def __init__(self) -> None:
        self.request = ctypes.c_void_p()
        self.request_p = ctypes.addressof(self.request)
        self.source = ctypes.c_uint32()
        self.call = Call(
            request_p=self.request_p, patience=PIECE, source_p=ctypes.addressof(self.source)
        )
        self.call_p = ctypes.addressof(self.call)
        self.keep: Any = None
        # Gives the Request, or None once nobody can wait for the operation any longer.
        self.waiter: Callable[[], Request | None] | None = None

    def call_blocking(self, function: Any, args: tuple[Any, ...], handle: Any) -> int:
        """Makes the call without a request: C then tells a message to oneself that nothing ends."""
        self.call.request_p, self.call.patience = None, 0
        try:
            return int(function(*args, handle, self.call_p))
        finally:
            self.call.request_p, self.call.patience = self.request_p, PIECE

    def let_go(self) -> bool:
        """Whether an operation that was left alone is complete; its Request is told."""
        if self.waiter is None:
            return False  # a call waits for it
        request = self.waiter()
        if request is None:
            lib.weft_request_test(self.request_p)
            return self.request.value is None
        try:
            return request.look(0)
        except WeftError:
            return False  # in a group that another thread has open

    def set_options(self, dtype: Dtype | None, options: Any) -> Any:
        """Fills in the options of a call. Returns what must live until it has been made."""
        call = self.call
        keep: list[Any] = []
        for name, value in options.items():
            if name == "timeout":
                call.timeout = _seconds(value)
            elif name == "scalar":
                call.scalar, scalar = _scalar(value, dtype)
                keep.append(scalar)
            elif name == "stream":
                stream = _stream(value)
                call.stream = ctypes.addressof(stream)
                keep.append(stream)
            else:
                raise TypeError(f"unknown option {name!r}: there are timeout, scalar and stream")
        return keep

    @property
    def stream(self) -> int | None:
        """The handle of the call's stream; None: it has none."""
        place = self.call.stream
        return None if place is None else ctypes.c_void_p.from_address(place).value or 0

    def reset(self) -> None:
        call = self.call
        call.timeout, call.scalar, call.stream = 0, None, None
        call.request_p, call.patience = self.request_p, PIECE


def _seconds(value: float | None) -> float:
    if value is None:
        return 0.0
    seconds = _duration(value)
    if not seconds > 0:
        raise ValueError(f"timeout: {value} s; give seconds above 0, math.inf, or None")
    return -1.0 if math.isinf(seconds) else seconds


def _duration(value: Any) -> float:
    try:
        nothing = math.isnan(value)  # which takes no text, as float() does
    except TypeError:
        raise TypeError(f"timeout: {value!r} is no number of seconds") from None
    except OverflowError:
        raise ValueError("timeout: too many seconds; math.inf means no deadline") from None
    if nothing:
        raise ValueError(f"timeout: {value} is no number of seconds")
    return float(value)


def _scalar(value: Any, dtype: Dtype | None) -> tuple[int, Any]:
    """Address of the factor of a PREMULSUM, and what keeps it."""
    if dtype is None:
        raise TypeError("scalar: this call does not reduce")
    if isinstance(value, (int, float)):
        number = _element(value, dtype)
        return ctypes.addressof(number), number
    memory = arrays.describe(value, "scalar", False)
    # Plain bytes may be of a type that their package has no name for.
    same = memory.dtype in (dtype, None) and memory.itemsize == SIZES[dtype]
    if not same or memory.count != 1:
        raise ValueError(
            f"scalar: {memory.count} elements of type {memory.kind}, but the call takes one of "
            f"{dtype.name}"
        )
    return memory.address, memory


def _element(value: int | float, dtype: Dtype) -> Any:
    """A number as an element."""
    kind = CTYPES.get(dtype)
    if kind is None:
        raise TypeError(f"scalar: give an array of one element of {dtype.name}")
    try:
        number = kind(value)
    except TypeError:
        raise TypeError(f"scalar: {value!r} is no element of {dtype.name}") from None
    except OverflowError:
        number = None
    if number is None or _is_lost(number.value, value):
        raise ValueError(f"scalar: {value!r} is beyond the range of {dtype.name}")
    return number


def _is_lost(kept: int | float, value: int | float) -> bool:
    """Whether an element is another number than the one it was made of, but for its precision."""
    if isinstance(kept, float):
        return math.isinf(kept) and not math.isinf(value)
    return kept != value


def _stream(value: Any) -> ctypes.c_void_p:
    """A stream of a device: its handle, or torch's or CuPy's object."""
    for name in ("cuda_stream", "ptr"):
        value = getattr(value, name, value)
    if not isinstance(value, int):
        raise TypeError(f"stream: {type(value).__name__} is no handle of a stream")
    return ctypes.c_void_p(value)


class Request(Bound):
    """An operation that was started. Wait for it, test it, or await it, until it is complete.

    Its arrays belong to the operation until then, and are kept. Of requests that nobody waits for
    those that are complete are let go now and then, as further ones are started.
    """

    def __init__(self, comm: Communicator, slot: Slot, error: BaseException | None = None) -> None:
        self._comm = comm
        self._slot = slot
        self._error = error
        self._complete = error is not None
        self._turn = threading.Lock()
        slot.waiter = weakref.ref(self)

    @property
    def is_complete(self) -> bool:
        """Whether wait(), test() or await has seen the end of the operation."""
        return self._complete

    @property
    def source(self) -> int:
        """The sender's rank, when a receive is complete."""
        if not self._complete:
            raise RuntimeError("the receive is not complete: wait for the request first")
        return int(self._slot.source.value)

    def test(self) -> bool:
        """Makes progress. True if the operation is complete; a failure is raised."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> None:
        """Waits for the end of the operation; a failure is raised.

        After `timeout` seconds a TimeoutError is raised and the operation goes on. Without it the
        wait ends at the deadline of the operation.
        """
        end = None if timeout is None else time.monotonic() + _duration(timeout)
        piece = PIECE
        while True:
            if end is not None:
                piece = min(PIECE, max(0.0, end - time.monotonic()))
            if self._look(piece):
                return
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"the operation is not complete after {timeout} s")

    def __await__(self) -> Generator[Any, None, None]:
        return self._poll().__await__()

    async def _poll(self) -> None:
        turns = 0
        while not self.test():
            turns += 1
            await asyncio.sleep(0 if turns < 100 else 0.001)

    def _look(self, seconds: float) -> bool:
        """The same, and a failure is raised."""
        complete = self.look(seconds)
        if complete and self._error is not None:
            raise self._error
        if complete:
            self._comm._raise_operators()
        return complete

    def look(self, seconds: float) -> bool:
        """Waits so long at most. One thread at a time looks; the others wait for it as long."""
        if not self._complete and self._turn.acquire(timeout=seconds):
            try:
                if not self._complete:
                    self._take(int(lib.weft_request_wait_for(self._slot.request_p, seconds)))
            finally:
                self._turn.release()
        return self._complete

    def _take(self, status: int) -> None:
        """Takes the status of an operation that is looked at."""
        if status in _DONE:
            return
        if self._slot.request.value is not None:
            # It was not waited for, because its group is open: it goes on.
            raise failure(status, self._comm._handle)
        self._slot.keep = None
        self._comm._pending.discard(self._slot)
        if status < 0:
            self._error = failure(status, self._comm._handle)
        self._complete = True


class _Local(threading.local):
    group: Group | None = None


local = _Local()


class Group(Bound):
    """Collectives, sends and receives inside `with weft.group():` start together at its end.

    No order of sends, receives and communicators in a group can deadlock. Calls inside return at
    once; the end of the group waits for all of them but those that were started with a request.
    An exception inside the group starts nothing, also if it was caught in a group around it.
    """

    def __init__(self) -> None:
        self._keep: list[Any] = []
        self._outer: Group | None = None
        self._cancelled = False
        self._slot = Slot()

    def __enter__(self) -> Group:
        self._outer = local.group
        lib.weft_group_start()
        local.group = self
        return self

    def keep(self, keep: Any) -> None:
        """Keeps what a call inside refers to until the end of the group."""
        self._keep.append(keep)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        local.group = self._outer
        self._cancelled = self._cancelled or kind is not None
        if self._outer is not None:
            self._outer.keep(self._keep)
            self._outer._cancelled = self._outer._cancelled or self._cancelled
        if self._cancelled:
            lib.weft_group_cancel()
            if kind is None:
                raise cancelled()
            return
        status = self._end() if self._outer is None else int(lib.weft_group_end())
        if status < 0:
            raise failure(status)

    def _end(self) -> int:
        slot = self._slot
        slot.call.patience, slot.call.source_p = 0, None
        unfinished.add(self)
        status = int(lib.weft_group_end_async(slot.call_p))
        if status == Status.OK:
            status = Status.IN_PROGRESS
        while status == Status.IN_PROGRESS:
            status = lib.weft_request_wait_for(slot.request_p, PIECE)
        unfinished.discard(self)
        return status


# Groups that an exception of a signal's handler has left: their arrays must stay.
unfinished: set[Group] = set()


def group() -> Group:
    """A group of operations, for a with statement."""
    return Group()
