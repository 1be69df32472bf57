# SPDX-License-Identifier: BSD-3-Clause
"""Reads the capsule that __dlpack__() gives: the tensor's memory, without a copy.

The layouts are those of DLPack 0 (capsules named "dltensor") and 1 ("dltensor_versioned"). The
capsule is not consumed: it stays with us, and frees the exporter's tensor when it is dropped.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13
# The legacy default stream of CUDA, for exporters of memory of a device.
LEGACY = 1
# Bit of `flags`.
_READ_ONLY = 1
# DLDataTypeCode: how we write the type.
_KINDS = {0: "i", 1: "u", 2: "f"}
_BFLOAT, _COMPLEX, _BOOL = 4, 5, 6
_NAMES = {_BFLOAT: "bfloat16", 10: "float8_e4m3fn", 12: "float8_e5m2"}


class _Tensor(ctypes.Structure):
    """DLTensor"""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned"""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


class OpenTensor(NamedTuple):
    """What a capsule says. Strides are in elements."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kind: str
    itemsize: int
    device: str
    read_only: bool
    keep: Any
    stream: Optional[int]  # behind the exporter's work; None: it has none


def _pointer(capsule: Any, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    get.argtypes = (ctypes.py_object, ctypes.c_char_p)
    return int(get(capsule, name) or 0)


def _is_named(capsule: Any, name: bytes) -> bool:
    valid = ctypes.pythonapi.PyCapsule_IsValid
    valid.argtypes = (ctypes.py_object, ctypes.c_char_p)
    return bool(valid(capsule, name))


def _stream_for(array: Any) -> int | None:
    """The stream that an exporter on a device shall put behind its work. The legacy one is known
    before the call that the array is for, whatever stream that has."""
    where = getattr(array, "__dlpack_device__", None)
    if where is None:
        return None
    try:
        kind, _ = where()
    except Exception as reason:
        raise TypeError(f"its __dlpack_device__() gives no device: {reason!r}") from reason
    return _order_on(kind)


def _order_on(device_type: int) -> int | None:
    return LEGACY if device_type in (_CUDA, _CUDA_MANAGED) else None


def _capsule(array: Any, stream: int | None) -> Any:
    """Asks for version 1, which says whether the memory may be written, then for the old one. Who
    takes no stream either has the default of the standard, which is the legacy one."""
    order: dict[str, Any] = {} if stream is None else {"stream": stream}
    try:
        return array.__dlpack__(max_version=(1, 0), **order)
    except TypeError:
        pass
    try:
        return array.__dlpack__(**order)
    except TypeError:
        if stream is None:
            raise
    return array.__dlpack__()


def open_tensor(array: Any) -> OpenTensor:
    """Describes an array that has __dlpack__(). TypeError: it cannot be described."""
    capsule = _capsule(array, _stream_for(array))
    read_only = False
    if _is_named(capsule, b"dltensor_versioned"):
        managed = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise TypeError(f"the array speaks DLPack {managed.major}, not 1")
        read_only = bool(managed.flags & _READ_ONLY)
        tensor = managed.tensor
    elif _is_named(capsule, b"dltensor"):
        tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    else:
        raise TypeError("__dlpack__() gave no tensor")
    return _described(tensor, read_only, (array, capsule))


def _described(tensor: _Tensor, read_only: bool, keep: Any) -> OpenTensor:
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if tensor.strides:
        strides = tuple(tensor.strides[i] for i in range(tensor.ndim))
    else:
        strides = _packed_strides(shape)
    address = (tensor.data or 0) + tensor.byte_offset
    size = tensor.bits * tensor.lanes // 8
    kind = _NAMES.get(tensor.code) or f"{_KINDS.get(tensor.code, '?')}{size}"
    if tensor.lanes != 1 or tensor.bits % 8 != 0:
        raise TypeError(f"elements of {tensor.bits} bits in {tensor.lanes} lanes are not supported")
    where, stream = _device(tensor), _order_on(tensor.device_type)
    return OpenTensor(address, shape, strides, kind, size, where, read_only, keep, stream)


def _packed_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def _device(tensor: _Tensor) -> str:
    if tensor.device_type in (_CPU, _CUDA_HOST):
        return "cpu"
    if tensor.device_type in (_CUDA, _CUDA_MANAGED):
        return f"cuda:{tensor.device_id}"
    raise TypeError(f"the array is on a device of DLPack's type {tensor.device_type}")
