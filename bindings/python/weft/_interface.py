# SPDX-License-Identifier: BSD-3-Clause
"""What other packages say of their arrays, looked at before it is believed: the address that they
give is written to."""

from __future__ import annotations

import math
import operator
import re
import reprlib
import sys
from typing import Any, NoReturn

# "<f4", "|V2", "<M8[s]", "|O"
_TYPESTR = re.compile(r"[<>|=][A-Za-z](\d*)(\[.*\])?")
_ADDRESSES = 2 * sys.maxsize + 2


def _is_index(value: Any) -> bool:
    return hasattr(type(value), "__index__")


class _Said:
    """An interface: its name, whose it is, and what it says."""

    def __init__(self, array: Any, name: str) -> None:
        self.whose = f"the {name} of {type(array).__name__}"
        said = getattr(array, name)
        if not isinstance(said, dict):
            raise TypeError(f"{self.whose} is {reprlib.repr(said)}, expected a dict")
        self.said = dict(said)

    def refuse(self, key: str, expected: str, kind: type[Exception] = TypeError) -> NoReturn:
        value = reprlib.repr(self.said[key])
        raise kind(f"{self.whose} says {key} = {value}, expected {expected}")

    def numbers(self, key: str, expected: str) -> tuple[int, ...]:
        value = self.said[key]
        if not isinstance(value, (tuple, list)) or not all(map(_is_index, value)):
            self.refuse(key, expected)
        return tuple(map(operator.index, value))


def _check_data(it: _Said) -> None:
    address = it.said["data"]
    expected = "the address, and whether it is read-only"
    if not isinstance(address, (tuple, list)) or len(address) != 2 or not _is_index(address[0]):
        it.refuse("data", expected)
    number = operator.index(address[0])
    if not 0 <= number < _ADDRESSES:
        it.refuse("data", expected, ValueError)
    it.said["data"] = (number, bool(address[1]))


def _check_elements(it: _Said) -> int:
    """The shape and the type. Returns the bytes."""
    it.said["shape"] = shape = it.numbers("shape", "a tuple of lengths")
    if any(length < 0 for length in shape):
        it.refuse("shape", "lengths of at least 0", ValueError)
    typestr = it.said["typestr"]
    found = _TYPESTR.fullmatch(typestr) if isinstance(typestr, str) else None
    if found is None:
        it.refuse("typestr", "the byte order, a kind and a number of bytes, such as '<f4'")
    return math.prod(shape) * int(found.group(1) or 0)


def checked(array: Any, name: str) -> dict[str, Any]:
    """The interface of this name, with numbers that are numbers of Python. TypeError and ValueError
    tell what cannot be, KeyError what is missing."""
    it = _Said(array, name)
    data = it.said.get("data")
    # Without an address, the data is a buffer, or the array itself is one.
    if isinstance(data, tuple) or name != "__array_interface__":
        _check_data(it)
    elif not _is_index(it.said.setdefault("offset", 0)):
        it.refuse("offset", "a number of bytes")
    if _check_elements(it) > sys.maxsize:
        it.refuse("shape", "fewer elements: no memory is so large", ValueError)
    if it.said.get("strides") is not None:
        expected = "None, or a number of bytes for each length of the shape"
        it.said["strides"] = strides = it.numbers("strides", expected)
        if len(strides) != len(it.said["shape"]):
            it.refuse("strides", expected, ValueError)
    stream = it.said.get("stream")
    if stream is not None and not _is_index(stream):
        it.refuse("stream", "None, or the handle of a stream")
    if stream is not None:
        it.said["stream"] = operator.index(stream)
    if it.said.get("mask") is not None:
        it.refuse("mask", "none: every element counts")
    return it.said
