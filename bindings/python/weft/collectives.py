# SPDX-License-Identifier: BSD-3-Clause
"""The collectives, sends, receives and puts: arrays become addresses, counts and types.

What happens with the finished C call is up to the subclass: Communicator waits for it, and
Communicator.start returns a request.
"""

from __future__ import annotations

import ctypes
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Generic,
    Mapping,
    NoReturn,
    Optional,
    Sequence,
    TypeVar,
)

from ._library import ANY_RANK, Blocks, Dtype, Op, lib
from ._numbers import INT32, UINT64, fitting, number
from .arrays import Memory
from .memory import Operator

if TYPE_CHECKING:
    from typing import TypedDict

    from typing_extensions import Unpack

    from .memory import Window

    class CallOptions(TypedDict, total=False):
        """timeout: deadline in seconds (None: option op_timeout; math.inf: none).
        scalar: this rank's factor, for PREMULSUM. stream: of a device (handle, torch, CuPy)."""

        timeout: Optional[float]
        scalar: Any
        stream: Any


R = TypeVar("R", covariant=True)
Counts = Sequence[int]


# What an operator may be, for messages.
_OPERATORS = f"one of weft.{', '.join(op.name for op in Op)}, or of comm.create_op()"


def operator_number(value: Any, made: Mapping[int, Operator]) -> int:
    """The operator as C's number. `made` are those of the communicator: another one may have given
    the same number."""
    found = fitting(value, "op", INT32, _OPERATORS)
    if isinstance(value, Operator) and made.get(found) is not value:
        value.need_communicator()
        raise ValueError("op: it has been destroyed, or is another communicator's")
    return found


def _live(window: Any) -> int | None:
    try:
        handle: Callable[[], int | None] = window.live_handle
    except AttributeError:
        raise TypeError(f"window: {window!r} is none of comm.window()") from None
    return handle()


def _blocks_differ(send: Memory, recv: Memory, nranks: int) -> NoReturn:
    raise ValueError(
        f"send: {send.count} elements, but recv has {recv.count} for each of {nranks} ranks"
    )


def _same_type(a: Memory, b: Memory) -> None:
    if a.dtype is not b.dtype or a.itemsize != b.itemsize:
        raise TypeError(f"recv: elements of type {b.kind}, but send has {a.kind}")


def _same(a: Memory, b: Memory, factor: int = 1) -> None:
    """recv must have the type of send, and `factor` times its elements."""
    if a.dtype is not b.dtype or a.itemsize != b.itemsize:
        _same_type(a, b)
    if a.count * factor != b.count:
        wanted = f"{a.count} elements" + (f" for each of {factor} ranks" if factor > 1 else "")
        raise ValueError(f"recv: {b.count} elements, but send has {wanted}")


def _reducible(memory: Memory, name: str) -> Dtype:
    if memory.dtype is None:
        raise TypeError(f"{name}: elements of type {memory.kind} can be moved, but not reduced")
    return memory.dtype


def _moved(memory: Memory) -> tuple[int, Dtype]:
    """Elements and type for calls that only move data: of types unknown to weft, bytes."""
    if memory.dtype is None:
        return memory.count * memory.itemsize, Dtype.UINT8
    return memory.count, memory.dtype


def _scale(memory: Memory) -> int:
    """What counts in elements are multiplied with, for _moved()."""
    return 1 if memory.dtype is not None else memory.itemsize


def _numbers(values: Counts, nranks: int, name: str) -> list[int]:
    """The numbers as Python's, whose sums do not wrap around."""
    if not hasattr(values, "__len__"):
        raise TypeError(f"{name}: {values!r} is no list of numbers")
    if len(values) != nranks:
        raise ValueError(f"{name}: {len(values)} numbers for {nranks} ranks")
    numbers = [number(value, name, "a number of elements") for value in values]
    for each in numbers:
        if each < 0:
            raise ValueError(f"{name}: {each} is negative")
    return numbers


def _vector(numbers: list[int], scale: int) -> Any:
    return (ctypes.c_uint64 * len(numbers))(*(each * scale for each in numbers))


class _Vectors:
    """Counts and displacements of the blocks of one array."""

    def __init__(
        self, counts: Counts, displs: Counts | None, nranks: int, name: str, memory: Memory
    ) -> None:
        scale = _scale(memory)
        lengths = _numbers(counts, nranks, f"{name}_counts")
        self.counts = _vector(lengths, scale)
        self.displs = None
        if displs is None:
            end = sum(lengths)
        else:
            places = _numbers(displs, nranks, f"{name}_displs")
            self.displs = _vector(places, scale)
            end = max((d + c for d, c in zip(places, lengths) if c), default=0)
        if end > memory.count:
            raise ValueError(f"{name}: {memory.count} elements, but the blocks end at {end}")
        self.blocks = Blocks(ctypes.addressof(self.counts), self.displs_address)

    @property
    def displs_address(self) -> int | None:
        return None if self.displs is None else ctypes.addressof(self.displs)


class Collectives(Generic[R]):
    """Every rank calls the same functions with the same counts, types, operators and roots, in the
    same order. Arrays are C-contiguous; nothing is copied. `recv=None` means in place, where the
    function says so. A receiving array may also be the part of the sending one that the collective
    allows, such as all_gather(all[rank], all).
    """

    rank: int
    size: int
    _operators: dict[int, Operator]

    def _call(
        self, function: Any, args: tuple[Any, ...], keep: Any, dtype: Dtype | None, options: Any
    ) -> R:
        raise NotImplementedError

    def _describe(self, array: Any, name: str, writable: bool) -> Memory:
        raise NotImplementedError

    def all_reduce(
        self, send: Any, recv: Any = None, op: int = Op.SUM, **options: Unpack[CallOptions]
    ) -> R:
        """recv[i] = op over all ranks of send[i], on every rank. In place without recv."""
        s = self._describe(send, "send", recv is None)
        r = s
        if recv is not None:
            r = self._describe(recv, "recv", True)
            _same(s, r)
        dtype = _reducible(s, "send")
        args = (s.address, r.address, s.count, dtype, operator_number(op, self._operators))
        return self._call(lib.weft_all_reduce, args, (s, r), dtype, options)

    def reduce(
        self,
        send: Any,
        recv: Any = None,
        op: int = Op.SUM,
        root: int = 0,
        **options: Unpack[CallOptions],
    ) -> R:
        """recv[i] = op over all ranks of send[i], on the root. Other ranks need no recv; on the
        root the call is in place without it."""
        s = self._describe(send, "send", recv is None and self.rank == root)
        r = s
        if recv is not None and self.rank == root:
            r = self._describe(recv, "recv", True)
            _same(s, r)
        dtype = _reducible(s, "send")
        target = r.address if self.rank == root else None
        kind = operator_number(op, self._operators)
        args = (s.address, target, s.count, dtype, kind, self._root(root))
        return self._call(lib.weft_reduce, args, (s, r), dtype, options)

    def reduce_scatter(
        self, send: Any, recv: Any, op: int = Op.SUM, **options: Unpack[CallOptions]
    ) -> R:
        """Rank r gets the reduction of every rank's block r: send has size times the elements of
        recv."""
        s = self._describe(send, "send", False)
        r = self._describe(recv, "recv", True)
        _same_type(s, r)
        if s.count != r.count * self.size:
            _blocks_differ(s, r, self.size)
        dtype = _reducible(s, "send")
        args = (s.address, r.address, r.count, dtype, operator_number(op, self._operators))
        return self._call(lib.weft_reduce_scatter, args, (s, r), dtype, options)

    def broadcast(
        self, send: Any, recv: Any = None, root: int = 0, **options: Unpack[CallOptions]
    ) -> R:
        """Copies the root's array to every rank. Without recv each rank gives one array, which is
        read on the root and written on the others."""
        s = self._describe(send, "send", recv is None and self.rank != root)
        r = s
        if recv is not None:
            r = self._describe(recv, "recv", True)
            _same(s, r)
        count, dtype = _moved(s)
        args = (s.address, r.address, count, dtype, self._root(root))
        return self._call(lib.weft_broadcast, args, (s, r), None, options)

    def all_gather(self, send: Any, recv: Any, **options: Unpack[CallOptions]) -> R:
        """Block r of recv comes from rank r, on every rank: recv has size times the elements of
        send."""
        s = self._describe(send, "send", False)
        r = self._describe(recv, "recv", True)
        _same(s, r, self.size)
        count, dtype = _moved(s)
        args = (s.address, r.address, count, dtype)
        return self._call(lib.weft_all_gather, args, (s, r), None, options)

    def gather(
        self, send: Any, recv: Any = None, root: int = 0, **options: Unpack[CallOptions]
    ) -> R:
        """Block r of recv comes from rank r, on the root. Other ranks need no recv."""
        s = self._describe(send, "send", False)
        r = None
        if self.rank == root:
            r = self._needed(recv, "recv", True)
            _same(s, r, self.size)
        count, dtype = _moved(s)
        args = (s.address, r.address if r else None, count, dtype, self._root(root))
        return self._call(lib.weft_gather, args, (s, r), None, options)

    def scatter(
        self, send: Any, recv: Any, root: int = 0, **options: Unpack[CallOptions]
    ) -> R:
        """Rank r receives block r of the root's send. Other ranks give None as send."""
        r = self._describe(recv, "recv", True)
        s = None
        if self.rank == root:
            s = self._needed(send, "send", False)
            _same_type(s, r)
            if s.count != r.count * self.size:
                _blocks_differ(s, r, self.size)
        count, dtype = _moved(r)
        args = (s.address if s else None, r.address, count, dtype, self._root(root))
        return self._call(lib.weft_scatter, args, (s, r), None, options)

    def all_to_all(self, send: Any, recv: Any = None, **options: Unpack[CallOptions]) -> R:
        """Block b of send goes to rank b, block b of recv comes from rank b. In place without
        recv."""
        s = self._describe(send, "send", recv is None)
        r = s
        if recv is not None:
            r = self._describe(recv, "recv", True)
            _same(s, r)
        count, dtype = _moved(s)
        if s.count % self.size != 0:
            raise ValueError(f"send: {s.count} elements are no equal blocks for {self.size} ranks")
        args = (s.address, r.address, count // self.size, dtype)
        return self._call(lib.weft_all_to_all, args, (s, r), None, options)

    def all_gather_v(
        self,
        send: Any,
        recv: Any,
        recv_counts: Counts,
        recv_displs: Counts | None = None,
        **options: Unpack[CallOptions],
    ) -> R:
        """all_gather() with recv_counts[r] elements from rank r, equal on all ranks."""
        s = self._describe(send, "send", False)
        r = self._describe(recv, "recv", True)
        _same_type(s, r)
        v = _Vectors(recv_counts, recv_displs, self.size, "recv", r)
        self._check_block(s, recv_counts, "send", "recv_counts")
        args = (s.address, r.address, ctypes.addressof(v.counts), v.displs_address, _moved(s)[1])
        return self._call(lib.weft_all_gather_v, args, (s, r, v), None, options)

    def reduce_scatter_v(
        self,
        send: Any,
        recv: Any,
        counts: Counts,
        send_displs: Counts | None = None,
        op: int = Op.SUM,
        **options: Unpack[CallOptions],
    ) -> R:
        """reduce_scatter() with counts[r] elements for rank r, equal on all ranks."""
        s = self._describe(send, "send", False)
        r = self._describe(recv, "recv", True)
        _same_type(s, r)
        v = _Vectors(counts, send_displs, self.size, "send", s)
        self._check_block(r, counts, "recv", "counts")
        dtype = _reducible(s, "send")
        kind, place = operator_number(op, self._operators), ctypes.addressof(v.counts)
        args = (s.address, r.address, place, v.displs_address, dtype, kind)
        return self._call(lib.weft_reduce_scatter_v, args, (s, r, v), dtype, options)

    def all_to_all_v(
        self,
        send: Any,
        recv: Any,
        send_counts: Counts,
        recv_counts: Counts,
        send_displs: Counts | None = None,
        recv_displs: Counts | None = None,
        **options: Unpack[CallOptions],
    ) -> R:
        """send_counts[b] elements go to rank b, recv_counts[b] come from rank b."""
        s = self._describe(send, "send", False)
        r = self._describe(recv, "recv", True)
        _same_type(s, r)
        v = _Vectors(send_counts, send_displs, self.size, "send", s)
        w = _Vectors(recv_counts, recv_displs, self.size, "recv", r)
        blocks = ctypes.addressof(v.blocks), ctypes.addressof(w.blocks)
        args = (s.address, blocks[0], r.address, blocks[1], _moved(s)[1])
        return self._call(lib.weft_all_to_all_v, args, (s, r, v, w), None, options)

    def gather_v(
        self,
        send: Any,
        recv: Any = None,
        recv_counts: Counts | None = None,
        recv_displs: Counts | None = None,
        root: int = 0,
        **options: Unpack[CallOptions],
    ) -> R:
        """gather() with recv_counts[r] elements from rank r. Only the root needs recv and its
        vectors."""
        s = self._describe(send, "send", False)
        r = v = None
        if self.rank == root:
            r = self._needed(recv, "recv", True)
            _same_type(s, r)
            v = _Vectors(self._counts(recv_counts, "recv"), recv_displs, self.size, "recv", r)
        count, dtype = _moved(s)
        address, blocks = (r.address, ctypes.addressof(v.blocks)) if r and v else (None, None)
        args = (s.address, count, address, blocks, dtype, self._root(root))
        return self._call(lib.weft_gather_v, args, (s, r, v), None, options)

    def scatter_v(
        self,
        send: Any,
        recv: Any,
        send_counts: Counts | None = None,
        send_displs: Counts | None = None,
        root: int = 0,
        **options: Unpack[CallOptions],
    ) -> R:
        """scatter() with send_counts[r] elements for rank r. Only the root needs send and its
        vectors."""
        r = self._describe(recv, "recv", True)
        s = v = None
        if self.rank == root:
            s = self._needed(send, "send", False)
            _same_type(s, r)
            v = _Vectors(self._counts(send_counts, "send"), send_displs, self.size, "send", s)
        count, dtype = _moved(r)
        address, blocks = (s.address, ctypes.addressof(v.blocks)) if s and v else (None, None)
        args = (address, blocks, r.address, count, dtype, self._root(root))
        return self._call(lib.weft_scatter_v, args, (s, r, v), None, options)

    def barrier(self, **options: Unpack[CallOptions]) -> R:
        """Is complete when every rank has called it."""
        return self._call(lib.weft_barrier, (), None, None, options)

    def send(self, array: Any, peer: int, **options: Unpack[CallOptions]) -> R:
        """Sends an array to a rank, which calls recv() with as many elements of the same type."""
        s = self._describe(array, "array", False)
        count, dtype = _moved(s)
        args = (s.address, count, dtype, self._root(peer, "peer"))
        return self._call(lib.weft_send, args, s, None, options)

    def _receive(self, array: Any, peer: int, options: Any) -> R:
        r = self._describe(array, "array", True)
        count, dtype = _moved(r)
        source = ANY_RANK if peer == ANY_RANK else self._root(peer, "peer")
        args = (r.address, count, dtype, source)
        return self._call(lib.weft_recv, args, r, None, options)

    def put_signal(
        self,
        array: Any,
        peer: int,
        window: Window,
        offset: int = 0,
        **options: Unpack[CallOptions],
    ) -> R:
        """Puts an array into a rank's window, from `offset` bytes on, and raises a signal there.
        `window` is this rank's own of the same number; its memory is not used. The rank makes no
        call for it. The array may be changed when the call is complete, which says nothing about
        the rank."""
        s = self._describe(array, "array", False)
        count, dtype = _moved(s)
        place = fitting(offset, "offset", UINT64, "a number of bytes")
        args = (s.address, count, dtype, self._root(peer, "peer"), _live(window), place)
        return self._call(lib.weft_put_signal, args, s, None, options)

    def signal(self, peer: int, **options: Unpack[CallOptions]) -> R:
        """Raises a signal at a rank, when all earlier puts of this rank to it are there."""
        return self._call(lib.weft_signal, (self._root(peer, "peer"),), None, None, options)

    def wait_signal(self, peer: int, count: int = 1, **options: Unpack[CallOptions]) -> R:
        """Waits for `count` signals of a rank, and takes them. The arrays of the puts that raised
        them are in the window then. In a group, waits for several ranks at once."""
        signals = fitting(count, "count", UINT64, "a number of signals")
        args = (self._root(peer, "peer"), signals)
        return self._call(lib.weft_wait_signal, args, None, None, options)

    # Checks ---------------------------------------------------------------------------------------

    def _root(self, rank: int, name: str = "root") -> int:
        found = number(rank, name, "the number of a rank")
        if not 0 <= found < self.size:
            raise ValueError(f"{name}: {rank} is no rank of {self.size}")
        return found

    def _needed(self, array: Any, name: str, writable: bool) -> Memory:
        if array is None:
            raise TypeError(f"{name}: the root needs an array")
        return self._describe(array, name, writable)

    def _counts(self, counts: Counts | None, name: str) -> Counts:
        if counts is None:
            raise TypeError(f"{name}_counts: the root needs the counts of all ranks")
        return counts

    def _check_block(self, memory: Memory, counts: Counts, name: str, vector: str) -> None:
        if memory.count != counts[self.rank]:
            raise ValueError(
                f"{name}: {memory.count} elements, but {vector} gives rank {self.rank} "
                f"{counts[self.rank]}"
            )
