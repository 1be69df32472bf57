# SPDX-License-Identifier: BSD-3-Clause
"""The classes that torch makes process groups of, and the function that makes them.

torch has two ways to take collectives from Python. A Backend serves one kind of device in a group
of torch's; torch wraps the works of its methods, so a program cannot ask them for more than to
wait. A ProcessGroup is the group: its methods are called directly, and return our works.

So a group of weft alone is a WeftGroup, and knows its WeftBackend for those who ask torch's group
for one. A group that weft shares with others, and one that torch is to watch (debug mode, hooks),
is torch's with a WeftBackend. Where Backend cannot be subclassed, the WeftGroup does it all.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d
from torch import Tensor

from .._library import COLOR_NONE, Status
from .._waiting import Cancel
from .channel import Channel, Job, connect
from .methods import Methods, seconds
from .monitored import monitored_barrier
from .tensors import PLAIN_DTYPES, PLAIN_OPS, plain
from .work import DONE, Done, begin_event, profiled

DEFAULT_TIMEOUT = 1800.0

_CUSTOM = dist.ProcessGroup.BackendType.CUSTOM


def _backend_class() -> type | None:
    """torch's Backend if Python classes can be derived from it."""
    try:
        class Probe(c10d.Backend):  # type: ignore[misc]
            def __init__(self) -> None:
                c10d.Backend.__init__(self, 0, 1)
        Probe()
    except TypeError:
        return None
    return c10d.Backend


_Backend: Any = _backend_class()

# torch's C++ keeps a backend, but not what makes it a Python object.
_living: set[Any] = set()


class Engine(Methods):
    """One rank's end of a group: its channels, one for each kind of device, and how calls run."""

    def __init__(self, name: str, store: Any, rank: int, size: int, timeout: float) -> None:
        self._name = name
        self._store = store
        self._rank = rank
        self._ranks = size
        self._timeout = timeout
        self._channels: dict[str, Channel] = {}
        self._making = threading.Lock()
        self._cancel: Cancel | None = None  # of the channel that is being made
        self._window: list[tuple[Job, str]] | None = None
        self._window_device: torch.device | None = None
        self._barriers = 0
        self._bound: torch.device | None = None

    # Channels ---------------------------------------------------------------------------------

    def channel(self, device: torch.device) -> Channel:
        channel = self._channels.get(device.type)
        return channel if channel is not None else self._connect(device)

    def _connect(self, device: torch.device) -> Channel:
        if device.type not in ("cpu", "cuda"):
            raise TypeError(f"weft: no tensors on {device}; it has cpu and cuda")
        with self._making:
            if device.type not in self._channels:
                index = None
                if device.type == "cuda":
                    index = device.index
                    index = torch.cuda.current_device() if index is None else index
                self._cancel = Cancel()
                try:
                    self._channels[device.type] = connect(
                        self._store, self._rank, self._ranks, device.type, index, self._timeout,
                        self._cancel)
                finally:
                    self._cancel = None
            return self._channels[device.type]

    # Running ----------------------------------------------------------------------------------

    def _run(self, build: Callable[[], Job], device: torch.device, opts: Any, title: str,
             inputs: Sequence[Tensor]) -> Any:
        if self._window is not None:
            job = build()
            self._window.append((job, title))
            self._window_device = device
            return Done(job.result)
        channel = self._channels.get(device.type) or self._connect(device)
        timeout = channel.timeout if opts is None else seconds(opts.timeout, channel.timeout)
        blocking = opts is not None and not getattr(opts, "asyncOp", True)
        if device.type == "cuda":
            stream = channel.stream_for(blocking or opts is None)
            with torch.cuda.stream(stream):
                job = build()
                for tensor in (*inputs, *job.result):
                    tensor.record_stream(stream)
                return channel.enqueue(job, title, timeout, stream, title == "barrier")
        if blocking and not profiled():
            return channel.run(build(), title, timeout)
        job = build()
        event = begin_event(f"{self._name}:{title}", inputs) if profiled() else None
        return channel.post(job, title, timeout, event)

    def all_reduce_now(self, tensor: Tensor, opts: Any) -> bool:
        """The most frequent call by the shortest way: False if it has to go the usual one."""
        dtype, op = PLAIN_DTYPES.get(tensor.dtype), PLAIN_OPS.get(opts.reduceOp.op)
        if (dtype is None or op is None or not tensor.is_cpu or not plain(tensor)
                or opts.timeout.days >= 0 or self._window is not None or profiled()):
            return False
        channel = self._channels.get("cpu") or self._connect(tensor.device)
        channel.all_reduce_now(tensor, dtype, op)
        return True

    def start_coalescing(self, device: torch.device | None = None) -> None:
        if self._window is not None:
            raise RuntimeError("weft: the calls of this group are already being coalesced")
        self._window = []

    def end_coalescing(self, device: torch.device | None = None) -> Any:
        if self._window is None:
            raise RuntimeError("weft: end of coalescing without its start")
        jobs, self._window = [job for job, _ in self._window], None
        if not jobs:
            return Done([])
        afters = [job.after for job in jobs if job.after is not None]

        def copy() -> None:
            for after in afters:
                after()
        calls = [entry for job in jobs for entry in job.calls]
        result = [tensor for job in jobs for tensor in job.result]
        job = Job(calls, result, copy if afters else None, jobs)
        return self._run(lambda: job, self._window_device, None, "coalesced", result)

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False
                          ) -> None:
        limit = self._timeout if timeout is None else timeout.total_seconds()
        self._barriers += 1
        monitored_barrier(self._store, self._rank, self._ranks, self._barriers, limit,
                          wait_all_ranks)

    # Life -------------------------------------------------------------------------------------

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout = timeout.total_seconds()
        for channel in self._channels.values():
            channel.timeout = self._timeout

    def split(self, store: Any, ranks: Sequence[int], timeout: float) -> Engine | None:
        """The engine of these ranks of the group; every rank of the group calls this."""
        ranks = list(ranks)
        mine = self._rank in ranks
        color, key = (min(ranks), ranks.index(self._rank)) if mine else (COLOR_NONE, 0)
        channels = {kind: channel.split(color, key, timeout)
                    for kind, channel in sorted(self._channels.items())}
        if not mine:
            return None
        child = Engine(self._name, store, key, len(ranks), timeout)
        child._channels = {kind: channel for kind, channel in channels.items() if channel}
        return child

    def first_error(self) -> Any:
        errors = (channel.error() for channel in self._channels.values())
        return next((error for error in errors if error is not None), None)

    def abort(self) -> None:
        cancel = self._cancel
        if cancel is not None:
            cancel()
        for channel in list(self._channels.values()):
            channel.abort()

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()


def _timeout_of(opts: Any) -> float:
    timeout = getattr(opts, "timeout", None) or getattr(opts, "_timeout", None)
    return timeout.total_seconds() if timeout is not None else DEFAULT_TIMEOUT


# Methods of Methods that are called with tensors and options, by torch's names.
_COLLECTIVES = (
    "allreduce_coalesced", "reduce", "reduce_scatter", "reduce_scatter_single",
    "reduce_scatter_single_coalesced", "broadcast", "allgather", "allgather_coalesced",
    "all_gather_single", "all_gather_single_coalesced", "gather", "gather_single", "scatter",
    "all_to_all_single", "alltoall", "barrier", "allreduce_sparse",
    "_allgather_base", "allgather_into_tensor_coalesced", "_reduce_scatter_base",
    "reduce_scatter_tensor_coalesced", "alltoall_base", "gather_into_tensor", "allreduce",
    "send", "recv", "recv_anysource", "recvAnysource",
)


class _Shared:
    """What Backend and ProcessGroup have in common: everything but the collectives."""

    engine: Engine

    def getBackendName(self) -> str:
        """The name that torch's C++ sees. It takes a group of the name "gloo" for its own class."""
        return "weft"

    def set_timeout(self, timeout: timedelta) -> None:
        self.engine.set_timeout(timeout)

    _set_default_timeout = set_timeout

    def start_coalescing(self, device: torch.device | None = None) -> None:
        self.engine.start_coalescing(device)

    def end_coalescing(self, device: torch.device | None = None) -> Any:
        return self.engine.end_coalescing(device)

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False
                          ) -> None:
        self.engine.monitored_barrier(timeout, wait_all_ranks)

    def get_error(self) -> Any:
        error = self.engine.first_error()
        if error is None:
            return c10d.ErrorType.SUCCESS
        if error.status == Status.ERR_TIMEOUT:
            return c10d.ErrorType.TIMEOUT
        remote = (Status.ERR_PEER_DEAD, Status.ERR_PEER_UNRESPONSIVE, Status.ERR_PEER_LEFT)
        return c10d.ErrorType.REMOTE_ERROR if error.status in remote else c10d.ErrorType.COMM_ERROR

    def perform_nocolor_split(self, device: Any = None) -> None:
        self.engine.split(None, [], DEFAULT_TIMEOUT)

    def eager_connect_single_device(self, device: torch.device | None) -> None:
        if device is not None:
            self.engine.channel(torch.device(device))

    def _set_sequence_number_for_group(self) -> None:
        """weft counts by itself."""

    def _get_sequence_number_for_group(self) -> int:
        return max((channel.sequence for channel in self.engine._channels.values()), default=0)

    def abort(self) -> None:
        self.engine.abort()

    def shutdown(self) -> None:
        self.engine.close()

    @property
    def supports_splitting(self) -> bool:
        return True

    @property
    def supports_coalescing(self) -> bool:
        return True


def _forward(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        return getattr(self.engine, name)(*args)
    method.__name__ = name
    return method


if _Backend is not None:
    class WeftBackend(_Shared, _Backend):
        """weft for one kind of device of a group of torch's."""

        def __init__(self, engine: Engine, options: Any) -> None:
            _Backend.__init__(self, engine._rank, engine._ranks)
            self.engine = engine
            self._options = options
            _living.add(self)

        def shutdown(self) -> None:
            super().shutdown()
            _living.discard(self)

        @property
        def options(self) -> Any:
            return self._options

        def split(self, store: Any, ranks: Sequence[int], opts: Any) -> Any:
            timeout = _timeout_of(opts) if opts is not None else self.engine._timeout
            child = self.engine.split(store, ranks, timeout)
            return WeftBackend(child, _new_options(child, opts)) if child is not None else None

    for _name in _COLLECTIVES:
        setattr(WeftBackend, _name, _forward(_name))


def _new_options(engine: Engine, given: Any = None) -> Any:
    if given is not None:
        return given
    return c10d.Backend.Options(engine._name, timedelta(seconds=engine._timeout))


# Methods of ProcessGroup that take single tensors and values in place of options: the class of the
# options, and the fields that follow the tensors.
_SHORT: dict[str, tuple[Any, int, tuple[str, ...]]] = {
    "allreduce": (c10d.AllreduceOptions, 1, ("reduceOp", "timeout")),
    "allreduce_coalesced": (c10d.AllreduceCoalescedOptions, 1, ()),
    "broadcast": (c10d.BroadcastOptions, 1, ("rootRank", "timeout")),
    "reduce": (c10d.ReduceOptions, 1, ("rootRank", "reduceOp", "timeout")),
    "allgather": (c10d.AllgatherOptions, 2, ("timeout",)),
    "allgather_coalesced": (c10d.AllgatherOptions, 2, ()),
    "all_gather_single": (c10d.AllgatherOptions, 2, ()),
    "all_gather_single_coalesced": (c10d.AllgatherOptions, 2, ()),
    "gather": (c10d.GatherOptions, 2, ("rootRank", "timeout")),
    "gather_single": (c10d.GatherOptions, 2, ("rootRank",)),
    "scatter": (c10d.ScatterOptions, 2, ("rootRank", "timeout")),
    "reduce_scatter": (c10d.ReduceScatterOptions, 2, ("reduceOp", "timeout")),
    "reduce_scatter_single": (c10d.ReduceScatterOptions, 2, ()),
    "reduce_scatter_single_coalesced": (c10d.ReduceScatterOptions, 2, ()),
    "all_to_all_single": (c10d.AllToAllOptions, 4, ("timeout",)),
    "alltoall": (c10d.AllToAllOptions, 2, ("timeout",)),
    "barrier": (c10d.BarrierOptions, 0, ("timeout",)),
}
_SHORT["_allgather_base"] = _SHORT["all_gather_single"]
_SHORT["allgather_into_tensor_coalesced"] = _SHORT["all_gather_single_coalesced"]
_SHORT["_reduce_scatter_base"] = _SHORT["reduce_scatter_single"]
_SHORT["reduce_scatter_tensor_coalesced"] = _SHORT["reduce_scatter_single_coalesced"]
_SHORT["alltoall_base"] = _SHORT["all_to_all_single"]
_SHORT["gather_into_tensor"] = _SHORT["gather_single"]

_KEYWORDS = {"op": "reduceOp", "root": "rootRank"}


def _listed(name: str, tensors: list[Any]) -> list[Any]:
    """Single tensors in the place of lists, as ProcessGroup's short forms have them."""
    if name in ("allreduce", "broadcast", "reduce") and isinstance(tensors[0], Tensor):
        return [[tensors[0]]]
    if name in ("allgather", "gather") and isinstance(tensors[1], Tensor):
        return [[tensors[0]] if tensors[0] else [], [tensors[1]]]
    if name in ("scatter", "reduce_scatter") and isinstance(tensors[0], Tensor):
        return [[tensors[0]], [tensors[1]] if tensors[1] else []]
    return tensors


def _spelled_out(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a method with its options, from any of the forms that ProcessGroup has."""
    kind, tensors, fields = _SHORT[name]
    given = _listed(name, list(args[:tensors]))
    rest = args[tensors:]
    opts = kwargs.pop("opts", None)
    if opts is None and rest and (rest[0] is None or isinstance(rest[0], kind)):
        opts, rest = rest[0], rest[1:]
    if opts is None:
        opts = kind()
    for field, value in [*zip(fields, rest), *kwargs.items()]:
        if value is not None:
            setattr(opts, _KEYWORDS.get(field, field), value)
    return [*given, opts]


def _direct(name: str) -> Callable[..., Any]:
    """A method of WeftGroup: straight to the engine, or by way of torch where torch looks on."""
    inherited = getattr(dist.ProcessGroup, name, None)
    messages = name in ("send", "recv", "recv_anysource", "recvAnysource", "allreduce_sparse")

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _watched() and self.backend is not None and inherited is not None:
            return inherited(self, *args, **kwargs)
        if not messages:
            args = _spelled_out(name, args, kwargs)
            kwargs = {}
        return getattr(self.engine, name)(*args, **kwargs)
    method.__name__ = name
    return method


_watched: Callable[[], int] = torch._C._len_torch_dispatch_stack


class WeftGroup(_Shared, dist.ProcessGroup):
    """A process group of weft alone."""

    def __init__(self, engine: Engine, store: Any, options: Any = None) -> None:
        if _Backend is None:
            dist.ProcessGroup.__init__(self, engine._rank, engine._ranks)
        else:
            dist.ProcessGroup.__init__(self, store, engine._rank, engine._ranks)
        self.engine = engine
        self.backend = None
        if _Backend is not None:
            self.backend = WeftBackend(engine, options or _new_options(engine))
            self._set_default_backend(_CUSTOM)
            for kind in ("cpu", "cuda"):
                self._register_backend(torch.device(kind), _CUSTOM, self.backend)

    def allreduce(self, tensors: Any, opts: Any = None, *rest: Any, **named: Any) -> Any:
        if (type(opts) is c10d.AllreduceOptions and not opts.asyncOp and len(tensors) == 1
                and not _watched() and self.engine.all_reduce_now(tensors[0], opts)):
            return DONE
        return self._allreduce(tensors, opts, *rest, **named)

    def _start_coalescing(self, device: torch.device | None = None) -> None:
        self.engine.start_coalescing(device)

    def _end_coalescing(self, device: torch.device | None = None) -> Any:
        return self.engine.end_coalescing(device)

    def shutdown(self) -> None:
        super().shutdown()
        _living.discard(self.backend)

    def split_group(self, ranks: Sequence[int], timeout: timedelta | None = None, opts: Any = None,
                    group_name: str | None = None, group_desc: str | None = None,
                    device_types: Any = None) -> Any:
        limit = timeout.total_seconds() if timeout is not None else self.engine._timeout
        store = dist.PrefixStore(f"{group_name}/", self.engine._store)
        child = self.engine.split(store, ranks, limit)
        if child is None:
            return None
        group = WeftGroup(child, store, opts)
        group._set_group_name(group_name or "")
        group._set_group_desc(group_desc or "undefined")
        return group


for _name in _COLLECTIVES:
    setattr(WeftGroup, f"_{_name}" if _name == "allreduce" else _name, _direct(_name))

if _Backend is None:
    def _itself(self: WeftGroup, device: Any = None) -> WeftGroup:
        return self

    def _devices(self: WeftGroup) -> list[torch.device]:
        return [torch.device("cpu"), torch.device("cuda")]

    def _named(field: str) -> tuple[Callable[..., str], Callable[..., None]]:
        return (lambda self: getattr(self, field, ""),
                lambda self, value: setattr(self, field, value))

    WeftGroup._get_backend = _itself
    WeftGroup._device_types = property(_devices)
    WeftGroup.getGroupName, WeftGroup.setGroupName = _named("_called")
    WeftGroup.getGroupDesc, WeftGroup.setGroupDesc = _named("_described")


# Making groups --------------------------------------------------------------------------------


def _watched_by_torch() -> bool:
    """Whether torch is told to look at every call, which it does in groups of its own."""
    detail = dist.get_debug_level() == dist.DebugLevel.DETAIL
    nan_check = os.environ.get("TORCH_DIST_NAN_CHECK", "0") == "1"
    recorder = os.environ.get("TORCH_FR_BUFFER_SIZE", "0") not in ("", "0")
    return detail or nan_check or recorder


def _alone(group: Any) -> bool:
    """Whether weft serves all devices of the group that torch is making."""
    if group is None:
        return True
    if list(group._device_types):
        return False
    return group._get_backend_name() in ("custom", "undefined")


def _parent() -> Channel | None:
    """The channel of the default group, if that is weft's."""
    if not dist.is_initialized():
        return None
    engine = getattr(dist.group.WORLD, "engine", None)
    return engine._channels.get("cpu") if isinstance(engine, Engine) else None


def _connect_cpu(engine: Engine, opts: Any) -> None:
    """Makes the channel of host memory: among ranks that have one already, or by torch's store."""
    parent, ranks = _parent(), list(opts.global_ranks_in_group)
    if parent is None or not ranks:
        engine.channel(torch.device("cpu"))
        return
    tag = zlib.crc32(opts.group_id.encode())
    engine._channels["cpu"] = parent.members(ranks, tag, engine._timeout)


def create(name: str, opts: Any, backend_options: Any = None) -> Any:
    """Makes what torch asks a backend for: called by init_process_group() and new_group()."""
    timeout = opts.timeout.total_seconds()
    split_from = getattr(opts, "split_from", None)
    group = getattr(opts, "process_group", None)
    if split_from is not None:
        engine = split_from.engine.split(opts.store, opts.global_ranks_in_group, timeout)
    else:
        engine = Engine(name, opts.store, opts.group_rank, opts.group_size, timeout)
        bound = getattr(group, "bound_device_id", None)
        if bound is None or bound.type == "cpu":
            _connect_cpu(engine, opts)
    options = None
    if _Backend is not None:
        options = _new_options(engine, backend_options)
        options.global_ranks_in_group = opts.global_ranks_in_group
        options.group_name = opts.group_id
        if _watched_by_torch() or not _alone(group):
            return WeftBackend(engine, options)
    return WeftGroup(engine, opts.store, options)
