# SPDX-License-Identifier: BSD-3-Clause
"""Memory that suits weft, registrations, windows, and operators of users."""

from __future__ import annotations

import ctypes
import sys
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable

from . import _waiting
from ._library import OP_FN, Dtype, lib
from ._bound import Bound
from ._dtypes import CTYPES, NAMES, SIZES, TYPESTR, named
from ._numbers import fitting
from .arrays import Memory
from .errors import StateError, WeftError, check

if TYPE_CHECKING:
    from .communicator import Communicator


class Allocation(Bound):
    """Zeroed host memory that the ranks of a host read in place, without a copy into slots.

    numpy.asarray(allocation) is an array in it; allocation.view() is a memoryview. The memory lives
    as long as they do.
    """

    _INSTEAD = ": copy or send an array in it, such as numpy.asarray(allocation)"

    def __init__(self, count: int, dtype: Any = Dtype.UINT8) -> None:
        self.dtype = named(dtype)
        most = sys.maxsize // SIZES[self.dtype]
        self.count = count = fitting(count, "count", (0, most), "a number of elements")
        self.nbytes = count * SIZES[self.dtype]
        memory = ctypes.c_void_p()
        check(lib.weft_mem_alloc(None, self.nbytes, ctypes.byref(memory)))
        self.address: int = memory.value or 0
        self._finalizer = weakref.finalize(self, lib.weft_mem_free, None, self.address)
        # At the end of the process the system frees it; views may be used until then.
        self._finalizer.atexit = False

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {
            "shape": (self.count,),
            "typestr": TYPESTR[self.dtype],
            "data": (self.address, False),
            "strides": None,
            "version": 3,
        }

    def view(self) -> memoryview:
        """The memory as bytes."""
        array = (ctypes.c_uint8 * self.nbytes).from_address(self.address)
        array._owner = self  # type: ignore[attr-defined]
        return memoryview(array).cast("B")


def alloc(count: int, dtype: Any = Dtype.UINT8) -> Allocation:
    """Allocates memory for `count` elements; dtype is a Dtype, or one of numpy or torch."""
    return Allocation(count, dtype)


class _Held(Bound):
    """Something of a communicator that ends with a call, or at the end of a with statement."""

    def __init__(self, comm: Communicator, memory: Memory) -> None:
        self._comm = comm
        self._memory: Memory | None = memory
        self._handle = ctypes.c_void_p()

    def _end(self) -> None:
        raise NotImplementedError

    def _forget(self) -> None:
        self._memory = None

    def deregister(self) -> None:
        """Ends it; a second time does nothing. After any error but StateError it has ended, too."""
        if self._memory is not None and self._comm._handle is not None:
            try:
                self._end()
            except StateError:
                raise
            except WeftError:
                self._forget()
                raise
        self._forget()

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.deregister()


class Registration(_Held):
    """A registered array."""

    def __init__(self, comm: Communicator, memory: Memory) -> None:
        super().__init__(comm, memory)
        size = memory.count * memory.itemsize
        place = ctypes.byref(self._handle)
        check(lib.weft_mem_register(comm._live(), memory.address, size, place), comm._handle)

    def _end(self) -> None:
        check(lib.weft_mem_deregister(self._comm._handle, self._handle), self._comm._handle)


class Window(_Held):
    """An array that other ranks put into, and unless it is local read in place. Every rank ends it,
    in the same order; a local one ends for itself. The array is kept until then, or until the end
    of the communicator."""

    def __init__(self, comm: Communicator, memory: Memory, local: bool) -> None:
        super().__init__(comm, memory)
        size = memory.count * memory.itemsize
        place = ctypes.byref(self._handle)
        handle = comm._live()
        # Before the call: a put may come right after it, also when a handler of a signal raises.
        comm._windows.append(memory)
        try:
            if local:
                function = lib.weft_window_register_local
                check(function(handle, memory.address, size, place), comm._handle)
            else:
                _waiting.call(
                    lambda: int(lib.weft_window_register(handle, memory.address, size, place)),
                    comm.abort,
                    comm._left,
                )
        except WeftError:
            self._let_go(memory)
            raise

    def live_handle(self) -> int | None:
        """The handle. A ValueError if it has been given back, as another window may have it now; a
        StateError if its communicator has ended."""
        if self._memory is None:
            raise ValueError("window: it has been deregistered")
        self._comm._live()
        return self._handle.value

    def _let_go(self, memory: Memory) -> None:
        kept = self._comm._windows
        kept[:] = [each for each in kept if each is not memory]

    def _forget(self) -> None:
        if self._memory is not None:
            self._let_go(self._memory)
        super()._forget()

    def _end(self) -> None:
        comm = self._comm
        _waiting.call(
            lambda: int(lib.weft_window_deregister(comm._handle, self._handle)),
            comm.abort,
            comm._left,
        )


def _operand(address: int, count: int, dtype: Dtype) -> Any:
    """Elements of a call of an operator: an array of numpy if it is imported, else a memoryview.
    Types that numpy lacks are those of ml_dtypes if it is imported, else bytes."""
    memory = (ctypes.c_uint8 * (count * SIZES[dtype])).from_address(address)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        kind = getattr(sys.modules.get("ml_dtypes"), NAMES.get(dtype, ""), TYPESTR[dtype])
        return numpy.frombuffer(memory, dtype=kind)
    view = memoryview(memory).cast("B")
    return view.cast(CTYPES[dtype]._type_) if dtype in CTYPES else view


class Operator(Bound):
    """A user-defined operator: give it as `op`. It ends with destroy() or with the communicator."""

    def __init__(self, comm: Communicator, function: Callable[[Any, Any], None]) -> None:
        if not callable(function):
            raise TypeError(f"function: {function!r} cannot be called")
        self._comm = comm
        self._error: BaseException | None = None
        self._function = function
        self._callback = OP_FN(self._combine)
        number = ctypes.c_int()
        place = ctypes.byref(number)
        check(lib.weft_op_create(comm._live(), self._callback, None, place), comm._handle)
        self.number: int = number.value
        comm._operators[self.number] = self

    def __index__(self) -> int:
        return self.number

    def _combine(self, inout: int, values: int, count: int, dtype: int, arg: object) -> None:
        # Nothing can be raised through C: the call raises it when it is complete.
        try:
            kind = Dtype(dtype)
            self._function(_operand(inout, count, kind), _operand(values, count, kind))
        except BaseException as error:
            self._error = error

    def need_communicator(self) -> None:
        """A StateError if its communicator has ended."""
        self._comm._live()

    def raise_error(self) -> None:
        """Raises what the function raised during a call. The results of that call are undefined."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def destroy(self) -> None:
        """Ends the operator; a second time does nothing."""
        operators = self._comm._operators
        # Another operator may have its number by now.
        if operators.get(self.number) is self:
            check(lib.weft_op_destroy(self._comm._handle, self.number), self._comm._handle)
            del operators[self.number]
