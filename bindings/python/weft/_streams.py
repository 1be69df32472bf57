# SPDX-License-Identifier: BSD-3-Clause
"""Streams of CUDA in which the owners of arrays have put work: a call comes behind it.

kernel-cuda works in streams that wait for no other, and its CUDA runtime is its own. So the driver
is asked: its library is here wherever an array is on a device.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import time
from typing import Any, Iterator

from .arrays import Memory

_LEGACY = 1  # CU_STREAM_LEGACY, which is also meant by a handle of 0
_NOT_READY = 600  # CUDA_ERROR_NOT_READY
_CONTEXT = 1  # CU_POINTER_ATTRIBUTE_CONTEXT
_NO_TIMES = 2  # CU_EVENT_DISABLE_TIMING


@functools.lru_cache(maxsize=None)
def driver() -> Any:
    """The functions of the driver, which return 0 or a number of CUresult."""
    return ctypes.CDLL("libcuda.so.1")


def order(keep: Any, stream: int | None) -> None:
    """Waits for what the owners of a call's arrays have put into streams, or makes the call's own
    stream wait for it. One that is being captured cannot: there the graph has the order."""
    own = None if stream is None else stream or _LEGACY
    behind = {memory.stream or _LEGACY: memory for memory in _working(keep)}
    if own is not None:
        behind.pop(own, None)
        if behind and _is_captured(own):
            return
    for theirs, memory in behind.items():
        with _context_of(memory):
            if own is None:
                _wait(theirs)
            else:
                _put_behind(own, theirs)


def _working(keep: Any) -> Iterator[Memory]:
    """The arrays of a call on which their owners may still work."""
    if isinstance(keep, Memory):
        if keep.stream is not None and keep.count > 0:
            yield keep
    elif isinstance(keep, (tuple, list)):
        for each in keep:
            yield from _working(each)


@contextlib.contextmanager
def _context_of(memory: Memory) -> Iterator[None]:
    """A thread that has not used CUDA yet has no context, and the legacy stream is one of each."""
    context = ctypes.c_void_p()
    address = ctypes.c_void_p(memory.address)
    driver().cuPointerGetAttribute(ctypes.byref(context), _CONTEXT, address)
    if context:
        _check(driver().cuCtxPushCurrent_v2(context))
    try:
        yield
    finally:
        if context:
            driver().cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


def _wait(stream: int) -> None:
    """In pieces, between which handlers of signals run."""
    pause = 0.0
    status = driver().cuStreamQuery(ctypes.c_void_p(stream))
    while status == _NOT_READY:
        time.sleep(pause)
        pause = min(pause + 1e-5, 1e-3)
        status = driver().cuStreamQuery(ctypes.c_void_p(stream))
    _check(status)


def _put_behind(own: int, theirs: int) -> None:
    event = ctypes.c_void_p()
    _check(driver().cuEventCreate(ctypes.byref(event), _NO_TIMES))
    try:
        _check(driver().cuEventRecord(event, ctypes.c_void_p(theirs)))
        _check(driver().cuStreamWaitEvent(ctypes.c_void_p(own), event, 0))
    finally:
        driver().cuEventDestroy_v2(event)


def _is_captured(stream: int) -> bool:
    state = ctypes.c_int()
    driver().cuStreamIsCapturing(ctypes.c_void_p(stream), ctypes.byref(state))
    return state.value != 0


def _check(status: int) -> None:
    if status != 0:
        raise RuntimeError(f"the CUDA driver refuses to wait for the stream of an array: {status}")
