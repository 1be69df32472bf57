# SPDX-License-Identifier: BSD-3-Clause
"""torch.compile and this package: its functions run as they are.

torch.compile would trace them, since they are Python, and find calls of C that it cannot trace.
"""

from __future__ import annotations

import types
from typing import Any

import torch


def _codes(code: types.CodeType) -> list[types.CodeType]:
    """A function's code and that of the functions in it."""
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return [code, *(each for one in inner for each in _codes(one))]


def _functions(owner: Any, module: str) -> list[types.FunctionType]:
    """The functions of a module or class that the module has written."""
    found = []
    for value in list(vars(owner).values()):
        if isinstance(value, property):
            value = value.fget
        if isinstance(value, types.FunctionType) and value.__module__ == module:
            found.append(value)
        elif isinstance(value, type) and value.__module__ == module and value is not owner:
            found += _functions(value, module)
    return found


def hide(*modules: types.ModuleType) -> None:
    """Makes torch.compile pass over the functions of the modules, and what they call."""
    frames = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
    set_strategy = getattr(frames, "set_code_exec_strategy", None)
    for module in modules:
        for function in _functions(module, module.__name__):
            function._torchdynamo_disable = True  # type: ignore[attr-defined]
            if set_strategy is not None:
                skip = frames._FrameAction.SKIP
                for code in _codes(function.__code__):
                    set_strategy(code, frames._FrameExecStrategy(skip, skip))
