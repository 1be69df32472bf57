# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that C takes, which would wrap around there if they were too large."""

from __future__ import annotations

import re
from operator import index
from typing import Any

# Of C's types: the least and the largest value.
INT32, UINT32 = (-(2**31), 2**31 - 1), (0, 2**32 - 1)
UINT64, BITS64 = (0, 2**64 - 1), (-(2**63), 2**64 - 1)

# Of durations in options; per second, so that 100us is the double nearest to 0.0001.
_UNITS = {"": 1, "s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "min": 1 / 60}


def duration(text: str) -> float:
    """Seconds of a duration that is a legal value of an option."""
    found = re.fullmatch("(.*?)([a-z]*)", text)
    assert found is not None
    return float(found.group(1)) / _UNITS[found.group(2)]


def number(value: Any, name: str, what: str = "a whole number") -> int:
    """The number as Python's own. A TypeError names the argument."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{name}: {value!r} is not {what}") from None


def fitting(
    value: Any, name: str, limits: tuple[int, int], what: str = "a whole number"
) -> int:
    """A number within limits. A ValueError names the argument."""
    found = number(value, name, what)
    if not limits[0] <= found <= limits[1]:
        raise ValueError(f"{name}: {found} is not from {limits[0]} to {limits[1]}")
    return found
