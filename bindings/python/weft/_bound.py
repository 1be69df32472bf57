# SPDX-License-Identifier: BSD-3-Clause
"""What belongs to one process, and to one object there."""

from __future__ import annotations

from typing import NoReturn


class Bound:
    """Has an address or a handle, which ends with the object: a copy would end it, too, and another
    process could not use it."""

    _INSTEAD = ""  # what to do, for the message

    def __reduce__(self) -> NoReturn:
        # Asked by pickle (multiprocessing, torch.save), by copy.copy and by copy.deepcopy.
        kind = type(self).__name__
        raise TypeError(
            f"a weft.{kind} can be neither copied nor sent to another process{self._INSTEAD}"
        )
