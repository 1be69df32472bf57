# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of other packages as memory: address, elements, type. Nothing is copied or converted.

Understood are __array_interface__ (numpy), __cuda_array_interface__ (CuPy, Numba, torch), tensors
of torch, the buffer protocol (bytes, bytearray, array, memoryview, mmap, ctypes) and __dlpack__.
"""

from __future__ import annotations

import ctypes
import math
import sys
from typing import Any, Callable, NamedTuple, Optional

from . import dlpack
from ._dtypes import BY_CODE, BY_NAME, SIZES, of_module
from ._interface import checked
from ._library import Dtype

# CU_STREAM_LEGACY, the legacy default stream of CUDA, which is also meant by a handle of 0.
LEGACY = dlpack.LEGACY

# Types that can be reduced, by what most arrays call them.
_NATIVE = {sign + code: dtype for code, dtype in BY_CODE.items() for sign in "<|"}


class Memory(NamedTuple):
    """A contiguous array: where it is, what it holds, and what keeps it there."""

    address: int
    count: int  # type: ignore[assignment]  # elements
    dtype: Optional[Dtype]  # None: can be moved, not reduced
    itemsize: int  # bytes of an element
    kind: str  # the type as its owner calls it
    device: str  # "cpu", or "cuda:0"
    keep: Any  # refers to the memory
    # Of CUDA, in which its owner may have put work on it; None: there is none to wait for.
    stream: Optional[int] = None


class _Refused(Exception):
    """The reason, without the name of the argument."""


def describe(array: Any, name: str, writable: bool) -> Memory:
    """The memory of an array. A TypeError or ValueError names the argument and what is wrong."""
    try:
        return (_describers.get(type(array)) or _describer(type(array)))(array, writable)
    except (_Refused, ValueError) as reason:
        raise ValueError(f"{name}: {reason}") from None
    except (TypeError, BufferError, AttributeError) as reason:
        raise TypeError(f"{name}: {reason}") from None
    except KeyError as reason:
        raise TypeError(f"{name}: the interface of {type(array).__name__} lacks {reason}") from None


_describers: dict[type, Callable[[Any, bool], Memory]] = {}


def _describer(kind: type) -> Callable[[Any, bool], Memory]:
    """How arrays of a Python type are described; found out once for each type."""
    found = _describers[kind] = _find_describer(kind)
    return found


def _find_describer(kind: type) -> Callable[[Any, bool], Memory]:
    torch = sys.modules.get("torch")
    if torch is not None and issubclass(kind, torch.Tensor):
        return _describe_torch
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, numpy.generic):
        return _describe_scalar
    masked = sys.modules.get("numpy.ma")
    if masked is not None and issubclass(kind, masked.MaskedArray):
        return _refuse_mask
    if numpy is not None and issubclass(kind, numpy.ndarray):
        return _describe_numpy
    if hasattr(kind, "__array_interface__"):
        return _describe_interface
    if hasattr(kind, "__cuda_array_interface__"):
        return _describe_cuda_interface
    if hasattr(kind, "__dlpack__"):
        return _describe_dlpack
    return _describe_buffer


def _refuse_read_only() -> None:
    raise _Refused("the array is read-only")


def _refuse_mask(array: Any, writable: bool) -> Memory:
    """Also where nothing is masked: whether the ranks call does not depend on what they hold."""
    raise TypeError(
        f"{type(array).__name__} has a mask, and every element is moved: "
        "give its .data or .filled()"
    )


# numpy and everything with its interface ----------------------------------------------------------


def _describe_numpy(array: Any, writable: bool) -> Memory:
    """What numpy says of its own arrays is right: most calls have it, without a detour."""
    interface = array.__array_interface__
    address, read_only = interface["data"]
    if read_only and writable:
        _refuse_read_only()
    typestr = interface["typestr"]
    dtype = _NATIVE.get(typestr)
    if dtype is None or interface["strides"] is not None:
        return _from_interface(array, interface, address, "cpu")
    count = math.prod(interface["shape"])
    return Memory(address, count, dtype, SIZES[dtype], typestr, "cpu", array)


def _describe_interface(array: Any, writable: bool) -> Memory:
    interface = checked(array, "__array_interface__")
    if type(interface.get("data")) is not tuple:
        return _describe_data(array, interface, writable)
    address, read_only = interface["data"]
    if read_only and writable:
        _refuse_read_only()
    return _from_interface(array, interface, address, "cpu")


def _describe_scalar(scalar: Any, writable: bool) -> Memory:
    """Of a scalar numpy describes an array that is gone by then: this one stays."""
    if writable:
        raise _Refused("the array is read-only: it is a scalar of numpy")
    return _describe_numpy(sys.modules["numpy"].asarray(scalar), False)


def _describe_data(array: Any, interface: Any, writable: bool) -> Memory:
    """An interface whose data is a buffer, such as the bytes of Pillow, or its owner's."""
    data = interface.get("data")
    try:
        view = memoryview(array if data is None else data)
    except TypeError:
        raise TypeError(f"the __array_interface__ of {type(array).__name__} has no data") from None
    if view.readonly and writable:
        _refuse_read_only()
    offset = interface.get("offset", 0)
    memory = _from_interface(array, interface, _buffer_address(view) + offset, "cpu")
    if offset < 0 or offset + memory.count * memory.itemsize > view.nbytes:
        raise _Refused(f"{memory.count} elements, but its data has {view.nbytes} bytes")
    return memory._replace(keep=view)


def _describe_cuda_interface(array: Any, writable: bool) -> Memory:
    interface = checked(array, "__cuda_array_interface__")
    address, read_only = interface["data"]
    if read_only and writable:
        _refuse_read_only()
    device = getattr(array, "device", None)
    number = getattr(device, "id", device if isinstance(device, int) else 0)
    memory = _from_interface(array, interface, address, f"cuda:{number}")
    return memory._replace(stream=_stream_of(interface))


def _stream_of(interface: Any) -> Optional[int]:
    """Who says None needs no order. Who says nothing, as all did before version 3, may have worked
    in the default stream."""
    version = interface.get("version")
    if isinstance(version, int) and version >= 3 and "stream" in interface:
        stream: Optional[int] = interface["stream"]
        return stream
    return LEGACY


_INTERFACES = (
    ("__array_interface__", _describe_interface),
    ("__cuda_array_interface__", _describe_cuda_interface),
)


def _from_interface(array: Any, interface: Any, address: int, device: str) -> Memory:
    shape, typestr = interface["shape"], interface["typestr"]
    if getattr(getattr(array, "dtype", None), "hasobject", False):
        raise TypeError(f"elements of type {array.dtype} refer to Python objects")
    size = int(typestr[2:].partition("[")[0] or 0)  # "<M8[s]", "|O"
    if typestr[1] == "U":
        size *= 4  # counted in characters
    strides = interface.get("strides")
    if strides is not None and not _is_packed(shape, strides, size):
        raise _Refused("the array is not contiguous in C order")
    if typestr[0] == ">" and size > 1:
        raise TypeError(f"the elements have the byte order of another machine ({typestr})")
    count = math.prod(shape)
    dtype = BY_CODE.get(typestr[1:])
    if dtype is None:
        return _named(array, address, count, size, typestr, device)
    return Memory(address, count, dtype, size, typestr, device, array)


def _named(
    array: Any, address: int, count: int, size: int, typestr: str, device: str
) -> Memory:
    """Elements that numpy has no code for: of another package, or such as are only moved."""
    kind = str(getattr(array, "dtype", typestr))
    dtype = BY_NAME.get(kind)
    if dtype is None and (size == 0 or typestr[1] not in "bcVSUmM" or "O" in typestr):
        raise TypeError(f"elements of type {kind} are no plain memory")
    return Memory(address, count, dtype, size, kind, device, array)


def _is_packed(shape: Any, strides: Any, size: int) -> bool:
    expected = size
    if 0 in shape:
        return True
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length > 1 and stride != expected:
            return False
        expected *= length
    return True


# torch --------------------------------------------------------------------------------------------

_torch_dtypes: dict[Any, Dtype] = {}


def _torch_dtype(dtype: Any) -> Optional[Dtype]:
    if not _torch_dtypes:
        _torch_dtypes.update(of_module(sys.modules["torch"]))
    return _torch_dtypes.get(dtype)


def _describe_torch(tensor: Any, writable: bool) -> Memory:
    if not tensor.is_contiguous():
        raise _Refused("the tensor is not contiguous")
    for pending in ("conj", "neg"):
        if getattr(tensor, f"is_{pending}")():
            raise _Refused(
                f"the memory of the tensor is not what it shows: use tensor.resolve_{pending}()"
            )
    if writable and tensor.requires_grad:
        raise _Refused("the tensor requires a gradient; use tensor.detach()")
    device = tensor.device
    if device.type not in ("cpu", "cuda"):
        raise _Refused(f"the tensor is on device {device}")
    dtype = _torch_dtype(tensor.dtype)
    size = tensor.element_size()
    name, stream = "cpu", None
    if device.type == "cuda":
        name = f"cuda:{device.index or 0}"
        stream = sys.modules["torch"].cuda.current_stream(device).cuda_stream
    kind = str(tensor.dtype)
    return Memory(tensor.data_ptr(), tensor.numel(), dtype, size, kind, name, tensor, stream)


# The buffer protocol ------------------------------------------------------------------------------

_FORMATS = {"b": "i", "h": "i", "i": "i", "l": "i", "q": "i", "n": "i"}
_FORMATS.update({key.upper(): "u" for key in _FORMATS})
_FORMATS.update({"e": "f", "f": "f", "d": "f"})


class _PyBuffer(ctypes.Structure):
    """Py_buffer of the stable ABI."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


def _buffer_address(view: memoryview) -> int:
    """The address of a view's memory, which the view keeps in place. It may be read-only."""
    buffer = _PyBuffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(buffer), 0)
    address = buffer.buf
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return address or 0


def _describe_buffer(array: Any, writable: bool) -> Memory:
    # An object may have an interface that its class has not.
    for attribute, describer in _INTERFACES:
        if hasattr(array, attribute) and not isinstance(array, type):
            return describer(array, writable)
    try:
        view = memoryview(array)
    except TypeError:
        raise TypeError(
            f"{type(array).__name__} is no array: it has no buffer, no __array_interface__, "
            "no __cuda_array_interface__ and no __dlpack__"
        ) from None
    if view.readonly and writable:
        _refuse_read_only()
    if not view.c_contiguous:
        raise _Refused("the memory is not contiguous in C order")
    code = view.format.lstrip("@=<")
    size = view.itemsize
    dtype = BY_CODE.get(f"{_FORMATS.get(code, '?')}{size}")
    if view.format[0] in ">!" and size > 1:
        raise TypeError(f"the elements have the byte order of another machine ({view.format})")
    if "O" in code or "P" in code:
        raise TypeError(f"elements of format {view.format} are no plain memory")
    count = view.nbytes // size if size else 0
    return Memory(_buffer_address(view), count, dtype, size, view.format, "cpu", view)


# DLPack -------------------------------------------------------------------------------------------


def _describe_dlpack(array: Any, writable: bool) -> Memory:
    tensor = dlpack.open_tensor(array)
    if writable and tensor.read_only:
        _refuse_read_only()
    if not _is_packed(tensor.shape, tensor.strides, 1):
        raise _Refused("the array is not contiguous in C order")
    count = math.prod(tensor.shape)
    dtype = BY_NAME.get(tensor.kind) or BY_CODE.get(tensor.kind)
    size, kind, device = tensor.itemsize, tensor.kind, tensor.device
    return Memory(tensor.address, count, dtype, size, kind, device, tensor.keep, tensor.stream)
