# SPDX-License-Identifier: BSD-3-Clause
"""Streams of CUDA in which the owners of arrays have put work: a call comes behind it.

kernel-cuda works in streams that wait for no other, and its CUDA runtime is its own. So the driver
is asked: its library is here wherever an array is on a device.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import time
from typing import Any, Callable, Iterator

from .arrays import LEGACY, Memory
from .errors import captured, late

_NOT_READY = 600  # CUDA_ERROR_NOT_READY
_IMPLICIT = 906  # CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
_CONTEXT = 1  # CU_POINTER_ATTRIBUTE_CONTEXT
_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_NO_TIMES = 2  # CU_EVENT_DISABLE_TIMING
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
_ACTIVE = 1  # CU_STREAM_CAPTURE_STATUS_ACTIVE

# What _capture() says besides the number of a capture.
_NONE = 0
_BESIDE = -1  # the legacy stream, while one that waits for it is captured
_INVALID = -2


@functools.lru_cache(maxsize=None)
def driver() -> Any:
    """The functions of the driver, which return 0 or a number of CUresult."""
    return ctypes.CDLL("libcuda.so.1")


def order(
    keep: Any, stream: int | None, seconds: Callable[[], float], look: Callable[[], None]
) -> None:
    """Waits for what the owners of a call's arrays have put into streams, or makes the call's own
    stream wait for it. `seconds` says how long a call without a stream waits at most (not above 0:
    no limit), and `look` raises what ends the wait before. A Timeout names the stream; a StateError
    tells of one that is captured, in which nothing was done then."""
    own = None if stream is None else stream or LEGACY
    # The legacy stream is one of each device.
    arrays = {(memory.stream or LEGACY, memory.device): memory for memory in _working(keep)}
    others = [(theirs, memory) for (theirs, _), memory in arrays.items() if theirs != own]
    behind = [each for each in others if _can_wait(own, *each)]
    if behind and own is None:
        limit = seconds()
        _wait(behind, limit if limit > 0 else math.inf, look)
        return
    for theirs, memory in behind:
        with _beside(memory):
            _put_behind(own, theirs)


def _working(keep: Any) -> Iterator[Memory]:
    """The arrays of a call on which their owners may still work."""
    if isinstance(keep, Memory):
        if keep.stream is not None and keep.count > 0:
            yield keep
    elif isinstance(keep, (tuple, list)):
        for each in keep:
            yield from _working(each)


def _can_wait(own: int | None, theirs: int, memory: Memory) -> bool:
    """Whether the call waits for this stream. One whose own stream is captured cannot, unless the
    capture is the same: its graph has the order."""
    with _beside(memory):
        capture = _capture(theirs)
        mine = _NONE if own is None else _capture(own)
    if capture == mine:
        return True
    if capture == _NONE or (capture == _BESIDE and mine != _NONE):
        return False
    raise captured(theirs)


def _capture(stream: int) -> int:
    """The number of the capture that a stream is in."""
    state, number = ctypes.c_int(), ctypes.c_uint64()
    status = driver().cuStreamGetCaptureInfo_v2(
        ctypes.c_void_p(stream), ctypes.byref(state), ctypes.byref(number), None, None, None
    )
    if status == _IMPLICIT:
        return _BESIDE
    _check(status)
    if state.value == _ACTIVE:
        return number.value
    return _INVALID if state.value else _NONE


@contextlib.contextmanager
def _beside(memory: Memory) -> Iterator[None]:
    """Lets the driver be asked in the context of an array: a thread that has not used CUDA yet has
    none, and the legacy stream is one of each. No capture is spoiled by it."""
    mode = ctypes.c_int(_RELAXED)
    _check(driver().cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)))
    try:
        _check(driver().cuCtxPushCurrent_v2(_context_of(memory.address)))
        try:
            yield
        finally:
            driver().cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
    finally:
        driver().cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))


def _context_of(address: int) -> ctypes.c_void_p:
    """Memory of a pool (cudaMallocAsync) and mapped one belong to a device and to no context."""
    context, ordinal = ctypes.c_void_p(), ctypes.c_int()
    at = ctypes.c_void_p(address)
    _check(driver().cuPointerGetAttribute(ctypes.byref(context), _CONTEXT, at))
    if context:
        return context
    _check(driver().cuPointerGetAttribute(ctypes.byref(ordinal), _ORDINAL, at))
    return _primary(ordinal.value)


@functools.lru_cache(maxsize=None)
def _primary(ordinal: int) -> ctypes.c_void_p:
    """The context of a device that the runtime uses. It is kept until the process ends."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _check(driver().cuDeviceGet(ctypes.byref(device), ordinal))
    _check(driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    return context


def _wait(behind: list[tuple[int, Memory]], limit: float, look: Callable[[], None]) -> None:
    """In pieces, between which handlers of signals run."""
    end, pause = time.monotonic() + limit, 0.0
    for stream, memory in behind:
        while _is_busy(stream, memory):
            look()
            if time.monotonic() >= end:
                raise late(stream, limit)
            time.sleep(pause)
            pause = min(pause + 1e-5, 1e-3)


def _is_busy(stream: int, memory: Memory) -> bool:
    with _beside(memory):
        status = driver().cuStreamQuery(ctypes.c_void_p(stream))
    if status != _NOT_READY:
        _check(status)
    return bool(status == _NOT_READY)


def _put_behind(own: int | None, theirs: int) -> None:
    event = ctypes.c_void_p()
    _check(driver().cuEventCreate(ctypes.byref(event), _NO_TIMES))
    try:
        _check(driver().cuEventRecord(event, ctypes.c_void_p(theirs)))
        _check(driver().cuStreamWaitEvent(ctypes.c_void_p(own), event, 0))
    finally:
        driver().cuEventDestroy_v2(event)


def _check(status: int) -> None:
    if status != 0:
        raise RuntimeError(f"the CUDA driver refuses to wait for the stream of an array: {status}")
