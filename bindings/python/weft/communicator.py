# SPDX-License-Identifier: BSD-3-Clause
"""Communicators."""

from __future__ import annotations

import atexit
import collections.abc
import ctypes
import os
import warnings
import weakref
from types import TracebackType
from typing import Any, Callable, Iterable, Mapping

from . import _streams, _waiting, arrays
from ._library import ANY_RANK, COLOR_NONE, Coll, CommOptions, Dtype, Op, Status, Ticket, UniqueId
from ._library import Launcher as _Launcher
from ._library import lib
from ._bound import Bound
from ._dtypes import named
from ._numbers import BITS64, INT32, UINT32, UINT64, duration, fitting
from ._operations import Request, Slot, local
from .collectives import Collectives, operator_number
from .errors import WeftError, check, destroyed, failure, inherited
from .memory import Operator, Registration, Window

Settings = Mapping[str, object]

# As many operations may be left complete before somebody looks at them.
_MANY = 64


# Seconds in which a call that was left comes out of an aborted communicator.
_LEAVES = 2.0


def _nobody() -> None:
    """Of an operation that a signal's handler has left: nobody waits for it."""


def _text(value: Any, name: str) -> bytes:
    """A text as C has it, which ends at the first NUL."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: {value!r} is no text")
    if "\0" in value:
        raise ValueError(f"{name}: {value!r} has a NUL, where it would end")
    return os.fsencode(value)


def _path(value: Any, name: str) -> bytes:
    try:
        return _text(os.fsdecode(value), name)
    except TypeError:
        raise TypeError(f"{name}: {value!r} is no path") from None


class Options:
    """weft_comm_options_t, and the texts that it points to."""

    def __init__(
        self, config: str | None, settings: Settings | None, name: str | None = None
    ) -> None:
        if settings is not None and not isinstance(settings, collections.abc.Mapping):
            raise TypeError(f'settings: {settings!r} is no dict such as {{"core.log": "debug"}}')
        given = (settings or {}).items()
        texts = [_text(f"{key}={value}", f"settings[{key!r}]") for key, value in given]
        self._texts = (ctypes.c_char_p * len(texts))(*texts)
        self.struct = CommOptions(
            config=None if config is None else _path(config, "config"),
            settings=self._texts,
            settings_count=len(texts),
            name=None if name is None else _text(name, "name"),
        )

    @property
    def address(self) -> int:
        return ctypes.addressof(self.struct)

    def seconds(self, section: bytes, key: bytes, default: float) -> float:
        """What a duration is set to, of which joining has said that it is legal. The default
        also if the file of options is gone by now."""
        text = ctypes.create_string_buffer(1001)
        status = lib.weft_option_given(self.address, section, key, text, len(text))
        return duration(text.value.decode()) if status == Status.OK and text.value else default

    def join(self, function: Callable[[], int]) -> None:
        """Calls a function that joins with these options. An exception of a handler cancels it."""
        cancel = _waiting.Cancel()
        self.struct.cancel_fd = cancel.fd
        _waiting.call(lambda: cancel.during(function), cancel)


class Launcher:
    """What the launcher said to this process: name, rank, size, local_rank, local_size."""

    def __init__(self) -> None:
        found = _Launcher()
        check(lib.weft_launcher_detect(ctypes.byref(found)))
        self.name: str = found.name.decode()
        self.rank: int = found.rank
        self.size: int = found.nranks
        self.local_rank: int = found.local_rank
        # 0: not known.
        self.local_size: int = found.local_ranks

    def __repr__(self) -> str:
        return f"<weft.Launcher {self.name}: rank {self.rank} of {self.size}>"


def unique_id(config: str | None = None, settings: Settings | None = None) -> bytes:
    """Makes an id that lets ranks join one communicator, and listens for them. Who has it can join:
    carry it over a private channel. This process must live until all ranks have joined."""
    made, options = UniqueId(), Options(config, settings)
    check(lib.weft_unique_id_create(ctypes.byref(made), options.address))
    return bytes(made.bytes)


def _rank_vector(ranks: Iterable[int], name: str) -> Any:
    try:
        given = list(ranks)
    except TypeError:
        raise TypeError(f"{name}: {ranks!r} is no list of ranks") from None
    numbers = [fitting(rank, name, UINT32, "the number of a rank") for rank in given]
    return (ctypes.c_uint32 * len(numbers))(*numbers)


def _copied(value: Any, name: str, kind: Any, what: str) -> Any:
    """Bytes that another rank has sent, as the struct that they are."""
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"{name}: {type(value).__name__} has no bytes, expected a {what}") from None
    with view:
        if view.nbytes != ctypes.sizeof(kind):
            raise ValueError(f"{name}: {view.nbytes} bytes are no {what} of weft")
        return kind.from_buffer_copy(view)


class Communicator(Bound, Collectives[None]):
    """One rank's end of a communicator.

    Communicator()                      joins the job of the launcher (mpirun, srun, torchrun,
                                        python -m weft.run); without one, rank 0 of 1
    Communicator(nranks, rank, id)      joins the ranks that have this id, of weft.unique_id()

    One thread at a time may call it; a second one gets a StateError. Use it in a `with` statement,
    or call destroy() at the end.
    """

    _INSTEAD = ": each makes one of its own, and dup() makes another of the same ranks"
    _is_parents = False  # of a forked child
    _options: Options | None = None  # with which it, or its first ancestor, has joined
    _timeout: float | None = None  # option exec.op_timeout, once it was needed

    def __init__(
        self,
        nranks: int | None = None,
        rank: int | None = None,
        id: bytes | None = None,
        *,
        config: str | None = None,
        settings: Settings | None = None,
        name: str | None = None,
    ) -> None:
        self._handle: int | None = None
        given = [value is not None for value in (nranks, rank, id)]
        if any(given) and not all(given):
            raise TypeError("give nranks, rank and id, or none of them")
        options = self._options = Options(config, settings, name)
        if id is None or nranks is None or rank is None:

            def join(made: Any) -> int:
                return int(lib.weft_comm_init_launcher(made, options.address))

        else:
            key = _copied(id, "id", UniqueId, "unique id")
            size = fitting(nranks, "nranks", UINT32)
            mine = fitting(rank, "rank", UINT32)

            def join(made: Any) -> int:
                return int(
                    lib.weft_comm_init_rank(made, size, ctypes.byref(key), mine, options.address)
                )

        self._become(join, options.join)

    @classmethod
    def join(
        cls,
        ticket: bytes,
        *,
        config: str | None = None,
        settings: Settings | None = None,
        name: str | None = None,
    ) -> Communicator:
        """Comes into a communicator that grows, with a ticket of its tickets(). The members call
        grow(). The options must be theirs, but for the name."""
        options = Options(config, settings, name)
        given = _copied(ticket, "ticket", Ticket, "ticket")
        made = cls.__new__(cls)
        made._options = options
        return made._become(
            lambda place: int(lib.weft_comm_join(place, ctypes.byref(given), options.address)),
            options.join,
        )

    def _become(
        self, make: Callable[[Any], int], call: Callable[[Callable[[], int]], None]
    ) -> Communicator:
        """Becomes the communicator that a function makes, if it makes one. `call` runs functions in
        threads where no handler of a signal comes between making it and taking it."""
        self._handle = None
        made = ctypes.c_void_p()

        def take() -> int:
            status = make(ctypes.byref(made))
            if made.value is not None:
                self._open(made.value)
            return status

        try:
            call(take)
        except BaseException:
            # A handler raised when it was made: nobody will have it.
            self.destroy()
            raise
        return self

    def _open(self, handle: int | None) -> None:
        rank, size = ctypes.c_uint32(), ctypes.c_uint32()
        check(lib.weft_comm_rank(handle, ctypes.byref(rank)))
        check(lib.weft_comm_size(handle, ctypes.byref(size)))
        self.rank = rank.value
        self.size = size.value
        # Operations under way: their arrays must stay.
        self._pending: set[Slot] = set()
        self._tidy_at = _MANY
        # Calls that a signal's handler has left may be inside the communicator.
        self._left: list[_waiting.Run] = []
        self._slots: list[Slot] = []
        self._operators: dict[int, Operator] = {}
        # Memory that peers may put into, also when nobody here holds its window any longer.
        self._windows: list[arrays.Memory] = []
        self._takes_devices: bool | None = None
        self.start = Starter(self)
        self._handle = handle
        _living.add(self)

    def __repr__(self) -> str:
        if self._handle is None:
            return f"<weft.Communicator, {'inherited' if self._is_parents else 'destroyed'}>"
        return f"<weft.Communicator {self.name}: rank {self.rank} of {self.size}>"

    @property
    def name(self) -> str:
        """What errors, log and explain() call it. May be set; ranks need not agree."""
        text = ctypes.create_string_buffer(64)
        check(lib.weft_comm_name(self._live(), text, ctypes.sizeof(text)))
        return text.value.decode(errors="replace")

    @name.setter
    def name(self, name: str) -> None:
        check(lib.weft_comm_set_name(self._live(), _text(name, "name")))

    def _live(self) -> int:
        """The handle; a StateError if it has been given back."""
        if self._handle is None:
            raise self._gone()
        return self._handle

    def _gone(self) -> WeftError:
        """The exception for a call without a handle."""
        return inherited() if self._is_parents else destroyed()

    def set_channels(self, most: int) -> None:
        """Lets at most that many channels share a message, so that other kernels find room on a
        device; 0: as many as the job has. The same on all ranks, before the first operation."""
        check(lib.weft_comm_set_channels(self._live(), fitting(most, "most", UINT32)))

    # Calls ----------------------------------------------------------------------------------------

    def recv(self, array: Any, peer: int = ANY_RANK, **options: Any) -> int:
        """Receives an array from a rank, or from whoever sends. Returns the sender's rank; in a
        group -1, because it is not known yet."""
        return self._run(*self._receive_args(array, peer), None, options)

    def _receive_args(self, array: Any, peer: int) -> tuple[Any, tuple[Any, ...], Any]:
        r = self._describe(array, "array", True)
        count, dtype = (r.count, r.dtype)
        if dtype is None:
            count, dtype = r.count * r.itemsize, Dtype.UINT8
        source = peer if peer == ANY_RANK else self._root(peer, "peer")
        return lib.weft_recv, (r.address, count, dtype, source), r

    def _call(
        self, function: Any, args: tuple[Any, ...], keep: Any, dtype: Dtype | None, options: Any
    ) -> None:
        self._run(function, args, keep, dtype, options)

    def _run(
        self, function: Any, args: tuple[Any, ...], keep: Any, dtype: Dtype | None, options: Any
    ) -> int:
        """Makes a call and waits for its end. Returns the sender of a message."""
        try:
            slot = self._slots.pop()
        except IndexError:
            slot = Slot()
        scalar = slot.set_options(dtype, options) if options else None
        self._order(slot, (keep, scalar))
        if local.group is not None or "stream" in options:
            return self._note(slot, function, args, (keep, scalar))
        try:
            if self._is_to_itself(function, args):
                status = slot.call_blocking(function, args, self._handle)
            else:
                status = function(*args, self._handle, slot.call_p)
            if status == 0 and slot.request.value is not None:
                status = self._wait(slot)
        except BaseException:
            # A signal's handler raised: the operation goes on, and its arrays must stay.
            if slot.request.value is not None:
                slot.keep, slot.waiter = keep, _nobody
                self._pending.add(slot)
            raise
        if options:
            slot.reset()
        self._slots.append(slot)
        if status < 0:
            raise self._failure(status)
        if self._operators:
            self._raise_operators()
        return slot.source.value

    def _order(self, slot: Slot, keep: Any) -> None:
        """Lets a call come behind what the owners of arrays of devices have put into streams."""
        if self._takes_devices:
            _streams.order(
                keep,
                slot.stream,
                lambda: slot.call.timeout or self._op_timeout(),
                self._raise_failed,
            )

    def _op_timeout(self) -> float:
        """Option exec.op_timeout in seconds; 0: none."""
        if self._timeout is None:
            options = self._options or Options(None, None)
            self._timeout = options.seconds(b"exec", b"op_timeout", 600.0)
        return self._timeout

    def _raise_failed(self) -> None:
        """Raises what has ended the communicator while a call waits that has not begun."""
        error = self.error()
        if error is not None:
            raise error

    def _is_to_itself(self, function: Any, args: tuple[Any, ...]) -> bool:
        """Whether a call is a message that no other rank has a part in."""
        if function is lib.weft_send:
            return bool(args[3] == self.rank)
        if function is lib.weft_recv:
            return bool(args[3] == self.rank or (args[3] == ANY_RANK and self.size == 1))
        return False

    def _tidy(self) -> None:
        """Lets go of operations that are complete and that nobody has waited for, now and then."""
        if local.group is None and len(self._pending) >= self._tidy_at:
            self._is_under_way()
            self._tidy_at = max(_MANY, 2 * len(self._pending))

    def _is_under_way(self) -> bool:
        """Whether operations are not complete. Lets go of those that are."""
        self._pending -= {slot for slot in list(self._pending) if slot.let_go()}
        return bool(self._pending)

    def _failure(self, status: int) -> WeftError:
        """The exception for a status that a call just returned."""
        return self._gone() if self._handle is None else failure(status, self._handle)

    def _wait(self, slot: Slot) -> int:
        """Waits in pieces, between which handlers of signals run."""
        # Who ends the communicator meanwhile sees that something is under way.
        self._pending.add(slot)
        status: int = Status.IN_PROGRESS
        while status == Status.IN_PROGRESS:
            status = lib.weft_request_wait_for(slot.request_p, _waiting.PIECE)
        self._pending.discard(slot)
        return status

    def _note(self, slot: Slot, function: Any, args: tuple[Any, ...], keep: Any) -> int:
        """A call in a group or in a stream: it returns at once, and without a request."""
        slot.call.request_p = None
        slot.call.patience = 0
        slot.call.source_p = None
        status = function(*args, self._handle, slot.call_p)
        slot.reset()
        slot.call.source_p = ctypes.addressof(slot.source)
        self._slots.append(slot)
        if status < 0:
            raise self._failure(status)
        if local.group is not None:
            local.group.keep(keep)
        return -1

    def _describe(self, array: Any, name: str, writable: bool) -> arrays.Memory:
        memory = arrays.describe(array, name, writable)
        if memory.device != "cpu" and not self._computes_on_device():
            raise ValueError(
                f"{name}: the array is on {memory.device}, but this communicator computes on host "
                "memory (core.kernel=kernel-cuda computes on CUDA devices)"
            )
        return memory

    def _computes_on_device(self) -> bool:
        if self._takes_devices is None:
            memory = ctypes.c_void_p()
            status = lib.weft_mem_alloc_device(self._live(), 1, ctypes.byref(memory))
            if status != Status.OK and status != Status.ERR_UNSUPPORTED:
                check(status, self._handle)
            self._takes_devices = status == Status.OK
            if memory:
                lib.weft_mem_free(self._handle, memory)
        return self._takes_devices

    # Communicators from communicators -------------------------------------------------------------

    def split(self, color: int | None, key: int = 0) -> Communicator | None:
        """One new communicator for each color; ranks are ordered by key, then by their rank here.
        Every rank calls it. A rank with color None joins none and gets None."""
        number = COLOR_NONE if color is None else fitting(color, "color", INT32)
        place = fitting(key, "key", INT32)
        made = self._make(
            lambda child: int(lib.weft_comm_split(self._handle, number, place, child))
        )
        return None if color is None else made

    def dup(self) -> Communicator:
        """A communicator of the same ranks."""
        made = self._make(lambda child: int(lib.weft_comm_dup(self._handle, child)))
        assert made is not None
        return made

    def create_group(self, ranks: Iterable[int], tag: int = 0) -> Communicator:
        """A communicator of these ranks, in this order. Only they call it, with equal arguments.
        `tag` tells creations apart that are under way at the same time between the same ranks."""
        members, number = _rank_vector(ranks, "ranks"), fitting(tag, "tag", UINT32)
        made = self._make(
            lambda child: int(
                lib.weft_comm_create_group(self._handle, members, len(members), number, child)
            )
        )
        assert made is not None
        return made

    # After a failure ------------------------------------------------------------------------------

    def revoke(self) -> None:
        """Fails the communicator on all ranks with Revoked, so that all of them leave their calls.
        Never waits. It must still be destroyed."""
        check(lib.weft_comm_revoke(self._live()))

    def agree(self, bits: int) -> int:
        """The bit-and of `bits` (64 bits) over the ranks that live, the same on all of them. Each
        of these calls it; the communicator may have failed."""
        handle, value = self._live(), ctypes.c_uint64(fitting(bits, "bits", BITS64))
        _waiting.call(
            lambda: int(lib.weft_comm_agree(handle, ctypes.byref(value))), self.abort, self._left
        )
        return value.value

    def shrink(self, excluded: Iterable[int] = ()) -> Communicator:
        """A communicator of the ranks that live and are not excluded, in their order. They alone
        call it, with the same excluded ranks. This communicator may have failed, and must still be
        destroyed."""
        ranks = _rank_vector(excluded, "excluded")
        made = self._make(
            lambda child: int(lib.weft_comm_shrink(self._handle, ranks, len(ranks), child))
        )
        assert made is not None
        return made

    def tickets(self, count: int = 1, ranks: Iterable[int] | None = None) -> list[bytes]:
        """Makes a ticket for each newcomer. `ranks` are their numbers in the grown communicator,
        and the members take those that are left, in their order; without it, `count` newcomers
        come behind the members. Whoever has a ticket can join: carry it over a private channel.
        One rank calls it, gives all tickets to grow(), and lives until all have joined."""
        handle = self._live()
        numbers = None if ranks is None else _rank_vector(ranks, "ranks")
        count = fitting(count, "count", INT32) if numbers is None else len(numbers)
        if count < 1:
            raise ValueError(f"{count} tickets; at least one newcomer comes")
        made = (Ticket * count)()
        check(lib.weft_comm_ticket(handle, numbers, count, ctypes.byref(made)))
        return [bytes(ticket.bytes) for ticket in made]

    def grow(self, tickets: Iterable[bytes] = ()) -> Communicator:
        """A communicator of these ranks and newcomers, who call Communicator.join(). Every rank
        calls it; one of them gives all tickets of one call of tickets(). This communicator stays
        as it is, also if that fails, and must still be destroyed."""
        given = [_copied(each, "ticket", Ticket, "ticket") for each in tickets]
        vector = (Ticket * len(given))(*given)
        made = self._make(
            lambda child: int(lib.weft_comm_grow(self._handle, vector, len(given), child))
        )
        assert made is not None
        return made

    def error_fd(self) -> int:
        """A descriptor that select and asyncio report readable once the communicator has failed.
        It is weft's: do not read or close it, and take it out of the loop before destroy()."""
        fd = ctypes.c_int()
        check(lib.weft_comm_error_fd(self._live(), ctypes.byref(fd)))
        return fd.value

    def _make(self, function: Callable[[Any], int]) -> Communicator | None:
        self._live()
        child = Communicator.__new__(Communicator)
        child._options = self._options
        child._become(function, lambda take: _waiting.call(take, self.abort, self._left))
        return None if child._handle is None else child

    # The end --------------------------------------------------------------------------------------

    def abort(self) -> None:
        """Fails the communicator on all ranks at once. It must still be destroyed."""
        if self._handle is not None:
            lib.weft_comm_abort(self._handle)

    def destroy(self) -> None:
        """Leaves the communicator. Waits for operations under way, at most up to their deadline."""
        handle = self._handle
        if handle is None:
            return
        for run in self._left:
            run.end(_LEAVES)

        def leave() -> int:
            status = int(lib.weft_comm_destroy(handle))
            if status >= 0:
                self._forget()
            return status

        if self._pending:
            _waiting.call(leave, self.abort)
        else:
            check(leave())

    def _forget(self) -> None:
        self._handle = None
        self._pending.clear()
        self._left.clear()
        self._operators.clear()
        self._windows.clear()
        _living.discard(self)

    def __enter__(self) -> Communicator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if kind is None:
            self.destroy()
            return
        # After an exception nobody waits for what is under way, and no failure takes its place.
        if self._left or self._is_under_way():
            self.abort()
        try:
            self.destroy()
        except WeftError:
            self.abort()

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is None:
            return
        warnings.warn(f"{self!r} was not destroyed", ResourceWarning, source=self)
        if self._is_under_way():
            lib.weft_comm_abort(handle)
        lib.weft_comm_destroy(handle)

    # Questions ------------------------------------------------------------------------------------

    def error(self) -> Exception | None:
        """The failure that put the communicator into the failed state."""
        from ._library import Error
        from .errors import KINDS, WeftError

        found = Error()
        check(lib.weft_comm_error(self._live(), ctypes.byref(found)))
        return KINDS.get(found.status, WeftError)(found.status, found) if found.status < 0 else None

    def missing(self) -> list[int]:
        """The ranks that the last operation whose deadline passed waited for in vain."""
        ranks, count = (ctypes.c_uint32 * self.size)(), ctypes.c_uint32()
        check(lib.weft_comm_missing(self._live(), ranks, self.size, ctypes.byref(count)))
        return list(ranks[: min(count.value, self.size)])

    def explain(
        self,
        coll: Coll,
        count: int,
        dtype: Any = Dtype.FP32,
        op: int = Op.SUM,
        root: int = 0,
    ) -> str:
        """One line: how a call would run, and why."""
        text = ctypes.create_string_buffer(1024)
        call = self._asked(coll, count, dtype, op, root)
        check(lib.weft_comm_explain(self._live(), *call, text, ctypes.sizeof(text)))
        return text.value.decode()

    def predict(
        self,
        coll: Coll,
        count: int,
        dtype: Any = Dtype.FP32,
        op: int = Op.SUM,
        root: int = 0,
    ) -> float:
        """Seconds that a call would take, by the cost model."""
        seconds = ctypes.c_double()
        call = self._asked(coll, count, dtype, op, root)
        check(lib.weft_comm_predict(self._live(), *call, ctypes.byref(seconds)))
        return seconds.value

    def _asked(self, coll: Coll, count: int, dtype: Any, op: int, root: int) -> tuple[int, ...]:
        """A call that is only asked about."""
        elements = fitting(count, "count", UINT64)
        kind = fitting(coll, "coll", INT32, "one of weft.Coll")
        return kind, elements, named(dtype), operator_number(op, self._operators), self._root(root)

    # Memory and operators -------------------------------------------------------------------------

    def register(self, array: Any) -> Registration:
        """Pins an array once instead of at each call. Never needed for correctness."""
        return Registration(self, self._describe(array, "array", True))

    def window(self, array: Any, *, local: bool = False) -> Window:
        """Lets the other ranks put into an array, and read it in place. Every rank calls it, with
        its own array. A local window is for puts only, and nobody waits for the other ranks: these
        register theirs when they like, but all windows in the same order."""
        return Window(self, self._describe(array, "array", True), local)

    def create_op(self, function: Callable[[Any, Any], None]) -> Operator:
        """A user-defined operator. function(inout, values) computes inout[i] = inout[i] op
        values[i] for two arrays: of numpy if it is imported (bfloat16 and fp8 of ml_dtypes, if that
        is), else memoryviews. It must be associative and commutative. Every rank makes the same
        operators in the same order."""
        return Operator(self, function)

    def _raise_operators(self) -> None:
        for operator in self._operators.values():
            operator.raise_error()


class Starter(Bound, Collectives[Request]):
    """Communicator.start: the same calls, each of which returns a request at once. With an array on
    a device it first waits for the stream in which the array's owner may have put work."""

    def __init__(self, comm: Communicator) -> None:
        # The communicator owns its starter.
        self._of = weakref.ref(comm)

    @property
    def _comm(self) -> Communicator:
        comm = self._of()
        if comm is None:
            raise ReferenceError("the communicator is gone")
        return comm

    @property
    def rank(self) -> int:  # type: ignore[override]
        return self._comm.rank

    @property
    def size(self) -> int:  # type: ignore[override]
        return self._comm.size

    @property
    def _operators(self) -> dict[int, Operator]:  # type: ignore[override]
        return self._comm._operators

    def _describe(self, array: Any, name: str, writable: bool) -> arrays.Memory:
        return self._comm._describe(array, name, writable)

    def recv(self, array: Any, peer: int = ANY_RANK, **options: Any) -> Request:
        """Receives an array from a rank, or from whoever sends; Request.source is the sender."""
        function, args, keep = self._comm._receive_args(array, peer)
        return self._call(function, args, keep, None, options)

    def _call(
        self, function: Any, args: tuple[Any, ...], keep: Any, dtype: Dtype | None, options: Any
    ) -> Request:
        comm = self._comm
        if "stream" in options:
            raise TypeError("stream: calls in streams have no request; use the communicator's own")
        slot = Slot()
        scalar = slot.set_options(dtype, options) if options else None
        slot.call.patience = 0
        slot.keep = (keep, scalar)
        comm._order(slot, slot.keep)
        comm._tidy()
        # Before the call: a signal's handler may raise right after it.
        comm._pending.add(slot)
        status = function(*args, comm._handle, slot.call_p)
        if status < 0:
            comm._pending.discard(slot)
            raise comm._failure(status)
        return Request(comm, slot)


# The end of the process ---------------------------------------------------------------------------

_living: weakref.WeakSet[Communicator] = weakref.WeakSet()


def _leave_all() -> None:
    """Nobody waits any longer: what is under way is aborted, and peers are told."""
    for comm in list(_living):
        handle = comm._handle
        if handle is None:
            continue
        if comm._is_under_way():
            lib.weft_comm_abort(handle)
        status = lib.weft_comm_destroy(handle)
        if status == Status.ERR_STATE:
            # A daemon thread is inside a call.
            lib.weft_comm_abort(handle)
        comm._handle = None


def _forget_all() -> None:
    """In a forked child: communicators belong to the parent."""
    for comm in list(_living):
        comm._forget()
        comm._is_parents = True


atexit.register(_leave_all)
os.register_at_fork(after_in_child=_forget_all)
