# SPDX-License-Identifier: BSD-3-Clause
"""The torch.distributed backend "weft".

torch finds register() by the entry point `weft` of the group torch.distributed.backends, so

    torch.distributed.init_process_group("weft")

works with nothing imported. A torch without entry points (older than 2.14) needs the import:

    import weft.torch

The package is Python only: it uses torch's Python classes and the C functions of weft, and runs
with every torch that lets Python classes be process groups. It asks torch for features, never for
its version.
"""

import functools as _functools

import torch.distributed as _dist

from . import channel as _channel
from . import groups as _groups
from . import methods as _methods
from . import monitored as _monitored
from . import tensors as _tensors
from . import work as _work
from .compiled import hide as _hide
from .errors import WeftBackendError
from .groups import create as _create

__all__ = ["WeftBackendError", "register"]

NAME = "weft"


def register(name: str = NAME) -> None:
    """Tells torch about the backend. Called by torch, or by the import; again does nothing."""
    if name.upper() not in _dist.Backend._plugins:
        _dist.Backend.register_backend(name, _functools.partial(_create, name), extended_api=True,
                                       devices=["cpu", "cuda"])


_hide(_channel, _groups, _methods, _monitored, _tensors, _work)
register()
