# SPDX-License-Identifier: BSD-3-Clause
"""The types of elements, as weft, arrays and frameworks call them: one table for the package."""

from __future__ import annotations

import ctypes
from typing import Any

from ._library import Dtype

# Of each type: kind and bytes as array interfaces write them, or only the bytes if they have no
# kind for it; the name in numpy (or ml_dtypes) and in torch; the type in ctypes, if it has one.
_TABLE: tuple[tuple[Dtype, str, str, Any], ...] = (
    (Dtype.INT8, "i1", "int8", ctypes.c_int8),
    (Dtype.UINT8, "u1", "uint8", ctypes.c_uint8),
    (Dtype.INT16, "i2", "int16", ctypes.c_int16),
    (Dtype.UINT16, "u2", "uint16", ctypes.c_uint16),
    (Dtype.INT32, "i4", "int32", ctypes.c_int32),
    (Dtype.UINT32, "u4", "uint32", ctypes.c_uint32),
    (Dtype.INT64, "i8", "int64", ctypes.c_int64),
    (Dtype.UINT64, "u8", "uint64", ctypes.c_uint64),
    (Dtype.FP16, "f2", "float16", None),
    (Dtype.FP32, "f4", "float32", ctypes.c_float),
    (Dtype.FP64, "f8", "float64", ctypes.c_double),
    (Dtype.BF16, "2", "bfloat16", None),
    (Dtype.FP8_E4M3, "1", "float8_e4m3fn", None),
    (Dtype.FP8_E5M2, "1", "float8_e5m2", None),
)

# By kind and bytes, "f4". Types without a kind are not in it.
BY_CODE: dict[str, Dtype] = {code: dtype for dtype, code, _, _ in _TABLE if len(code) == 2}
# By name, those that have no kind.
BY_NAME: dict[str, Dtype] = {name: dtype for dtype, code, name, _ in _TABLE if len(code) == 1}
NAMES: dict[Dtype, str] = {dtype: name for name, dtype in BY_NAME.items()}
# Bytes of an element.
SIZES: dict[Dtype, int] = {dtype: int(code[-1]) for dtype, code, _, _ in _TABLE}
# What the elements look like to numpy: types without a kind are plain bytes there.
TYPESTR: dict[Dtype, str] = {
    dtype: ("|" if code[-1] == "1" else "<") + ("V" + code)[-2:] for dtype, code, _, _ in _TABLE
}
CTYPES: dict[Dtype, Any] = {dtype: kind for dtype, _, _, kind in _TABLE if kind is not None}


_BY_ANY_NAME = {name: dtype for dtype, _, name, _ in _TABLE}
_BY_ANY_NAME.update(BY_CODE)
_BY_NUMBER: dict[int, Dtype] = {int(dtype): dtype for dtype in Dtype}


def named(value: Any) -> Dtype:
    """A Dtype, or what numpy or torch call it: "float32", "f4", numpy.float32, torch.float32."""
    name = str(getattr(value, "__name__", value)).rpartition(".")[2]
    found = _BY_NUMBER.get(value) if isinstance(value, int) else _BY_ANY_NAME.get(name)
    if found is None:
        raise ValueError(f"dtype: {value!r} is none of {', '.join(_BY_ANY_NAME)}")
    return found


def of_module(module: Any) -> dict[Any, Dtype]:
    """The types of a module that has them as attributes by these names, such as torch."""
    return {
        getattr(module, name): dtype for dtype, _, name, _ in _TABLE if hasattr(module, name)
    }
