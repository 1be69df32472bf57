# SPDX-License-Identifier: BSD-3-Clause
"""Tensors and operators of torch as buffers, types and operators of weft."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

import torch
from torch.distributed import ReduceOp

from .._dtypes import of_module
from .._library import Dtype, Op

UINT8 = int(Dtype.UINT8)

# Truth values are bytes of 0 and 1.
DTYPES = {dtype: int(number) for dtype, number in of_module(torch).items()}
DTYPES[torch.bool] = UINT8

OPS = {
    ReduceOp.SUM: int(Op.SUM),
    ReduceOp.PRODUCT: int(Op.PROD),
    ReduceOp.MIN: int(Op.MIN),
    ReduceOp.MAX: int(Op.MAX),
    ReduceOp.AVG: int(Op.AVG),
    ReduceOp.PREMUL_SUM: int(Op.PREMULSUM),
    ReduceOp.BAND: int(Op.BAND),
    ReduceOp.BOR: int(Op.BOR),
    ReduceOp.BXOR: int(Op.BXOR),
}

# Types whose elements weft takes as they are, and operators without more to them.
PLAIN_DTYPES = {dtype: number for dtype, number in DTYPES.items() if dtype != torch.bool}
PLAIN_OPS = {op: OPS[op] for op in (ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX,
                                    ReduceOp.AVG)}

# Truth values are bytes of 0 and 1: what torch calls their sum is "any", and so on.
_BOOL_OPS = dict(OPS)
_BOOL_OPS.update({
    ReduceOp.SUM: int(Op.MAX),
    ReduceOp.PRODUCT: int(Op.MIN),
    ReduceOp.BAND: int(Op.MIN),
    ReduceOp.BOR: int(Op.MAX),
})
_BOOL_OPS.pop(ReduceOp.AVG)
_BOOL_OPS.pop(ReduceOp.PREMUL_SUM)


def dense(tensors: Sequence[torch.Tensor]) -> None:
    """Refuses tensors whose elements do not lie in memory one by one."""
    for tensor in tensors:
        if tensor.layout is not torch.strided:
            raise ValueError(f"weft: tensors must be dense, not {tensor.layout}")


def alike(tensors: Sequence[torch.Tensor], what: str) -> None:
    """Refuses an empty list, and tensors of different type or device."""
    if not tensors:
        raise ValueError(f"weft {what}: requires non-empty tensor list")
    dense(tensors)
    first = tensors[0]
    for tensor in tensors:
        if tensor.dtype != first.dtype:
            raise ValueError(f"weft {what}: invalid tensor type: {tensor.dtype} beside "
                             f"{first.dtype}")
        if tensor.device != first.device:
            raise ValueError(f"weft {what}: tensors on {tensor.device} and {first.device}")


def same_shape(tensors: Sequence[torch.Tensor], what: str) -> None:
    for tensor in tensors:
        if tensor.numel() != tensors[0].numel():
            raise ValueError(f"weft {what}: invalid tensor size: {tuple(tensor.shape)} beside "
                             f"{tuple(tensors[0].shape)}")


def real(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs of reals, which is the same for sums and for moving data."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def plain(tensor: torch.Tensor) -> bool:
    """Whether the elements lie in memory one by one: not so where torch has yet to conjugate or
    negate them."""
    return tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg()


def packed(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or a plain copy of it."""
    return tensor if plain(tensor) else tensor.contiguous().resolve_conj().resolve_neg()


def room(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or plain memory to be copied to it afterwards."""
    if plain(tensor):
        return tensor
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def dtype_number(tensor: torch.Tensor) -> int:
    number = DTYPES.get(tensor.dtype)
    if number is None:
        known = ", ".join(map(str, DTYPES))
        raise TypeError(f"weft: no reduction of {tensor.dtype}; it has {known}")
    return number


def op_number(op: ReduceOp, tensor: torch.Tensor) -> int:
    kind = getattr(op, "op", op)
    is_bool = tensor.dtype == torch.bool
    number = (_BOOL_OPS if is_bool else OPS).get(kind)
    if number is None:
        raise RuntimeError(f"weft: no operator {kind} for {tensor.dtype}")
    if kind in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR) and tensor.dtype.is_floating_point:
        raise RuntimeError(f"weft: Cannot use {kind} with non-integral dtype {tensor.dtype}")
    return number


def _is_lost(element: torch.Tensor, number: torch.Tensor) -> bool:
    """Whether a number became another one as an element: floats are rounded, no more."""
    value = number.item()
    if element.is_floating_point():
        return math.isfinite(value) and abs(value) > torch.finfo(element.dtype).max
    return element.item() != value


def factor_of(op: ReduceOp, tensor: torch.Tensor) -> torch.Tensor | None:
    """The factor of PREMUL_SUM as one element in host memory, or None for other operators."""
    if getattr(op, "op", op) != ReduceOp.PREMUL_SUM:
        return None
    factor = op.factor if hasattr(op, "factor") else op.__getstate__()[1]
    if not isinstance(factor, torch.Tensor):
        factor = torch.tensor(factor, dtype=torch.float64)  # not the default, which may be bfloat16
    given = factor.to(device="cpu").reshape(1)
    element = given.to(tensor.dtype)
    if _is_lost(element, given):
        raise ValueError(f"weft: PREMUL_SUM: the factor {given.item()} is no element of "
                         f"{tensor.dtype}")
    return element


def consecutive(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether the tensors lie one behind the other, as the parts of one tensor do."""
    at = tensors[0].data_ptr()
    storage = tensors[0].untyped_storage().data_ptr()
    for tensor in tensors:
        if not plain(tensor) or tensor.data_ptr() != at:
            return False
        if tensor.dtype != tensors[0].dtype or tensor.untyped_storage().data_ptr() != storage:
            return False
        at += tensor.nbytes
    return True


def counts(values: Sequence[int]) -> ctypes.Array:
    return (ctypes.c_uint64 * len(values))(*values)
