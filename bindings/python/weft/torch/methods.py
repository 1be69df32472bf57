# SPDX-License-Identifier: BSD-3-Clause
"""The collectives of torch.distributed, as calls of weft.

Each method checks its arguments in the caller's thread, says what to call (build()), and leaves it
to _run() when and where that happens. Data that is only moved is moved as bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import byref
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor

from .._library import ANY_RANK, Blocks, lib
from .channel import Entry, Job
from .tensors import (
    UINT8,
    alike,
    consecutive,
    counts,
    dense,
    dtype_number,
    factor_of,
    op_number,
    packed,
    real,
    room,
    same_shape,
)


def _reduce_entry(function: Any, send: Tensor, recv: Tensor, count: int, op: Any, *rest: int
                  ) -> tuple[Entry, Any]:
    """A reducing call, and what it must keep."""
    factor = factor_of(op, send)
    fields = {"scalar": factor.data_ptr()} if factor is not None else None
    args = (send.data_ptr(), recv.data_ptr(), count, dtype_number(send), op_number(op, send), *rest)
    return (function, args, fields), (send, recv, factor)


def _move(function: Any, send: Tensor | None, recv: Tensor | None, count: int, *rest: int) -> Entry:
    args = (send.data_ptr() if send is not None else None,
            recv.data_ptr() if recv is not None else None, count, UINT8, *rest)
    return function, args, None


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    """The contents of the tensors one behind the other; no copy if they lie like that."""
    if consecutive(tensors):
        total = sum(tensor.numel() for tensor in tensors)
        return tensors[0].as_strided((total,), (1,))
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def _spread(tensors: Sequence[Tensor]) -> tuple[Tensor, Callable[[], None] | None]:
    """Memory for the contents of the tensors one behind the other, and the copies out of it."""
    if consecutive(tensors):
        total = sum(tensor.numel() for tensor in tensors)
        return tensors[0].as_strided((total,), (1,)), None
    sizes = [tensor.numel() for tensor in tensors]
    flat = torch.empty(sum(sizes), dtype=tensors[0].dtype, device=tensors[0].device)

    def copy() -> None:
        for tensor, part in zip(tensors, flat.split(sizes)):
            tensor.copy_(part.view(tensor.shape))
    return flat, copy


def _copies(pairs: Sequence[tuple[Tensor, Tensor]]) -> Callable[[], None] | None:
    """Copies of each buffer to its tensor, where the two differ."""
    different = [(tensor, buffer) for tensor, buffer in pairs if tensor is not buffer]
    if not different:
        return None

    def copy() -> None:
        for tensor, buffer in different:
            tensor.copy_(buffer)
    return copy


def _equal(sizes: Sequence[int]) -> bool:
    return all(size == sizes[0] for size in sizes)


class Methods:
    """Mixed into the classes that torch calls; they have _run() and the group's rank and size."""

    _ranks: int
    _rank: int

    def _run(self, build: Callable[[], Job], device: torch.device, opts: Any, title: str,
             inputs: Sequence[Tensor]) -> Any:
        raise NotImplementedError

    # Reductions -------------------------------------------------------------------------------

    def allreduce(self, tensors: list[Tensor], opts: Any) -> Any:
        alike(tensors, "all_reduce")

        def build() -> Job:
            entries, keep, pairs = [], [], []
            for tensor in tensors:
                buffer = packed(tensor)
                flat = real(buffer)
                entry, kept = _reduce_entry(lib.weft_all_reduce, flat, flat, flat.numel(),
                                            opts.reduceOp)
                entries.append(entry)
                keep.append(kept)
                pairs.append((tensor, buffer))
            return Job(entries, tensors, _copies(pairs), keep)
        return self._run(build, tensors[0].device, opts, "all_reduce", tensors)

    def allreduce_coalesced(self, tensors: list[Tensor], opts: Any) -> Any:
        return self.allreduce(tensors, opts)

    def reduce(self, tensors: list[Tensor], opts: Any) -> Any:
        alike(tensors, "reduce")

        def build() -> Job:
            tensor = tensors[0]
            buffer = packed(tensor)
            flat = real(buffer)
            entry, keep = _reduce_entry(lib.weft_reduce, flat, flat, flat.numel(), opts.reduceOp,
                                        opts.rootRank)
            after = _copies([(tensor, buffer)]) if self._rank == opts.rootRank else None
            return Job([entry], tensors, after, keep)
        return self._run(build, tensors[0].device, opts, "reduce", tensors)

    def reduce_scatter(self, outputs: list[Tensor], inputs: list[list[Tensor]], opts: Any) -> Any:
        alike(outputs, "reduce_scatter")
        output, parts = outputs[0], inputs[0]
        if len(outputs) != 1 or len(inputs) != 1 or len(parts) != self._ranks:
            raise ValueError("weft reduce_scatter: requires one output and one input per rank")
        alike([output, *parts], "reduce_scatter")
        if parts[self._rank].numel() != output.numel():
            raise ValueError("weft reduce_scatter: invalid tensor size: the output has "
                             f"{output.numel()} elements, this rank's input "
                             f"{parts[self._rank].numel()}")

        def build() -> Job:
            buffer = room(output)
            send = real(_joined(parts))
            width = 2 if output.is_complex() else 1
            sizes = [part.numel() * width for part in parts]
            if _equal(sizes):
                entry, keep = _reduce_entry(lib.weft_reduce_scatter, send, buffer, sizes[0],
                                            opts.reduceOp)
            else:
                array = counts(sizes)
                (_, args, fields), keep = _reduce_entry(lib.weft_reduce_scatter_v, send, buffer, 0,
                                                        opts.reduceOp)
                entry = (lib.weft_reduce_scatter_v,
                         (args[0], args[1], array, None, args[3], args[4]), fields)
            return Job([entry], outputs, _copies([(output, buffer)]), keep)
        return self._run(build, output.device, opts, "reduce_scatter", parts)

    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, opts: Any) -> Any:
        return self._reduce_scatter_singles([output], [tensor], opts, "_reduce_scatter_base")

    def reduce_scatter_single_coalesced(self, outputs: list[Tensor], inputs: list[Tensor],
                                        opts: Any) -> Any:
        title = "reduce_scatter_tensor_coalesced"
        return self._reduce_scatter_singles(outputs, inputs, opts, title)

    def _reduce_scatter_singles(self, outputs: list[Tensor], inputs: list[Tensor], opts: Any,
                                title: str) -> Any:
        for output, tensor in zip(outputs, inputs):
            alike([output, tensor], title)
            if tensor.numel() != output.numel() * self._ranks:
                raise ValueError(f"weft {title}: input tensor must be the same size as output size "
                                 f"times world size: {tensor.numel()} elements, {self._ranks} "
                                 f"times {output.numel()} expected")

        def build() -> Job:
            entries, keep, pairs = [], [], []
            for output, tensor in zip(outputs, inputs):
                buffer, send = room(output), real(packed(tensor))
                entry, kept = _reduce_entry(lib.weft_reduce_scatter, send, buffer,
                                            send.numel() // self._ranks, opts.reduceOp)
                entries.append(entry)
                keep.append(kept)
                pairs.append((output, buffer))
            return Job(entries, outputs, _copies(pairs), keep)
        return self._run(build, outputs[0].device, opts, title, inputs)

    # Data that is moved -----------------------------------------------------------------------

    def broadcast(self, tensors: list[Tensor], opts: Any) -> Any:
        alike(tensors, "broadcast")

        def build() -> Job:
            buffers = [packed(tensor) for tensor in tensors]
            entries = [_move(lib.weft_broadcast, buffer, buffer, buffer.nbytes, opts.rootRank)
                       for buffer in buffers]
            pairs = list(zip(tensors, buffers)) if self._rank != opts.rootRank else []
            return Job(entries, tensors, _copies(pairs), buffers)
        return self._run(build, tensors[0].device, opts, "broadcast", tensors)

    def allgather(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any) -> Any:
        alike(inputs, "all_gather")
        if len(inputs) != 1 or len(outputs) != 1:
            raise ValueError("weft all_gather: requires a single-element input tensor list and a "
                             "single-element output list")
        parts, tensor = outputs[0], inputs[0]
        if len(parts) != self._ranks:
            raise ValueError(f"weft all_gather: invalid output tensor list: {len(parts)} tensors "
                             f"for {self._ranks} ranks")
        alike([tensor, *parts], "all_gather")
        if parts[self._rank].numel() != tensor.numel():
            same_shape([parts[self._rank], tensor], "all_gather")

        def build() -> Job:
            entry, after, keep = self._gather_lists(tensor, parts)
            return Job([entry], parts, after, keep)
        return self._run(build, tensor.device, opts, "all_gather", inputs)

    def _gather_lists(self, tensor: Tensor, parts: list[Tensor]) -> tuple[Entry, Any, Any]:
        send = packed(tensor)
        flat, after = _spread(parts)
        sizes = [part.nbytes for part in parts]
        if _equal(sizes):
            return _move(lib.weft_all_gather, send, flat, send.nbytes), after, (send, flat)
        # Every rank passes the sizes of all, so blocks of different sizes are fine too.
        entry = (lib.weft_all_gather_v,
                 (send.data_ptr(), flat.data_ptr(), counts(sizes), None, UINT8), None)
        return entry, after, (send, flat)

    def allgather_coalesced(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any
                            ) -> Any:
        if len(outputs) != self._ranks:
            raise ValueError(f"weft all_gather_coalesced: invalid output lists: {len(outputs)} for "
                             f"{self._ranks} ranks")
        for parts in outputs:
            if [part.numel() for part in parts] != [tensor.numel() for tensor in inputs]:
                raise ValueError("weft all_gather_coalesced: invalid output size: an output list "
                                 "does not have the inputs' sizes")

        def build() -> Job:
            entries, afters, keep = [], [], []
            for at, tensor in enumerate(inputs):
                entry, after, kept = self._gather_lists(tensor, [parts[at] for parts in outputs])
                entries.append(entry)
                keep.append(kept)
                if after is not None:
                    afters.append(after)

            def copy() -> None:
                for after in afters:
                    after()
            return Job(entries, [part for parts in outputs for part in parts], copy, keep)
        return self._run(build, inputs[0].device, opts, "all_gather", inputs)

    def all_gather_single(self, output: Tensor, tensor: Tensor, opts: Any) -> Any:
        return self._all_gather_singles([output], [tensor], opts, "_all_gather_base")

    def all_gather_single_coalesced(self, outputs: list[Tensor], inputs: list[Tensor], opts: Any
                                    ) -> Any:
        return self._all_gather_singles(outputs, inputs, opts, "all_gather_into_tensor_coalesced")

    def _all_gather_singles(self, outputs: list[Tensor], inputs: list[Tensor], opts: Any, title: str
                            ) -> Any:
        for output, tensor in zip(outputs, inputs):
            alike([output, tensor], title)
            if output.numel() != tensor.numel() * self._ranks:
                raise ValueError(f"weft {title}: output tensor size must be equal to world_size "
                                 f"times input tensor size: {output.numel()} elements, "
                                 f"{self._ranks} times {tensor.numel()} expected")

        def build() -> Job:
            entries, keep, pairs = [], [], []
            for output, tensor in zip(outputs, inputs):
                buffer, send = room(output), packed(tensor)
                entries.append(_move(lib.weft_all_gather, send, buffer, send.nbytes))
                keep.append((send, buffer))
                pairs.append((output, buffer))
            return Job(entries, outputs, _copies(pairs), keep)
        return self._run(build, outputs[0].device, opts, title, inputs)

    def gather(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any) -> Any:
        alike(inputs, "gather")
        is_root = self._rank == opts.rootRank
        if is_root and (len(outputs) != 1 or len(outputs[0]) != self._ranks):
            raise ValueError("weft gather: Incorrect output list size: the root gives one output "
                             "per rank")
        if not is_root and outputs:
            raise ValueError("weft gather: requires empty output on non-root")
        tensor, parts = inputs[0], outputs[0] if is_root else []
        if is_root:
            alike([tensor, *parts], "gather")
            same_shape([tensor, *parts], "gather")

        def build() -> Job:
            send = packed(tensor)
            flat, after = _spread(parts) if is_root else (None, None)
            entry = _move(lib.weft_gather, send, flat, send.nbytes, opts.rootRank)
            return Job([entry], parts, after, (send, flat))
        return self._run(build, tensor.device, opts, "gather", inputs)

    def gather_single(self, output: Tensor, tensor: Tensor, opts: Any) -> Any:
        is_root = self._rank == opts.rootRank
        if is_root and output.nbytes != tensor.nbytes * self._ranks:
            raise ValueError("weft gather_single: output tensor size must be equal to world_size "
                             "times input tensor size")

        def build() -> Job:
            send = packed(tensor)
            buffer = room(output) if is_root else None
            entry = _move(lib.weft_gather, send, buffer, send.nbytes, opts.rootRank)
            after = _copies([(output, buffer)]) if buffer is not None else None
            return Job([entry], [output], after, (send, buffer))
        return self._run(build, tensor.device, opts, "gather_single", [tensor])

    def scatter(self, outputs: list[Tensor], inputs: list[list[Tensor]], opts: Any) -> Any:
        alike(outputs, "scatter")
        is_root = self._rank == opts.rootRank
        if is_root and (len(inputs) != 1 or len(inputs[0]) != self._ranks):
            raise ValueError("weft scatter: Incorrect input list size: the root gives one input "
                             "per rank")
        if not is_root and inputs:
            raise ValueError("weft scatter: requires empty input on non-root")
        output, parts = outputs[0], inputs[0] if is_root else []
        if is_root:
            alike([output, *parts], "scatter")
            same_shape([output, *parts], "scatter")

        def build() -> Job:
            buffer = room(output)
            send = _joined(parts) if is_root else None
            entry = _move(lib.weft_scatter, send, buffer, buffer.nbytes, opts.rootRank)
            return Job([entry], outputs, _copies([(output, buffer)]), (send, buffer))
        return self._run(build, output.device, opts, "scatter", parts or outputs)

    def all_to_all_single(self, output: Tensor, tensor: Tensor, output_splits: Sequence[int],
                          input_splits: Sequence[int], opts: Any) -> Any:
        alike([output, tensor], "all_to_all")
        for one in (output, tensor):
            if not one.is_contiguous():
                raise ValueError("weft all_to_all: Tensors must be contiguous")
        sizes = self._split_bytes(tensor, input_splits), self._split_bytes(output, output_splits)

        def build() -> Job:
            send, recv = packed(tensor), room(output)
            return Job([self._exchange(send, sizes[0], recv, sizes[1])], [output],
                       _copies([(output, recv)]), (send, recv))
        return self._run(build, output.device, opts, "all_to_all", [tensor])

    def _split_bytes(self, tensor: Tensor, splits: Sequence[int]) -> list[int]:
        rows = tensor.size(0) if tensor.dim() else 1
        if not splits:
            if rows % self._ranks:
                raise ValueError("weft all_to_all: Tensor's dim 0 does not divide equally across "
                                 "group size")
            splits = [rows // self._ranks] * self._ranks
        if len(splits) != self._ranks:
            raise ValueError("weft all_to_all: Number of tensor splits not equal to group size")
        if min(splits) < 0:
            raise ValueError(f"weft all_to_all: a split of {list(splits)} is negative")
        if sum(splits) != rows:
            raise ValueError("weft all_to_all: Split sizes doesn't match total dim 0 size")
        row = tensor.nbytes // rows if rows else 0
        return [split * row for split in splits]

    def _exchange(self, send: Tensor, send_sizes: list[int], recv: Tensor, recv_sizes: list[int]
                  ) -> Entry:
        if _equal(send_sizes + recv_sizes):
            return _move(lib.weft_all_to_all, send, recv, send_sizes[0])
        send_counts, recv_counts = counts(send_sizes), counts(recv_sizes)
        blocks = [Blocks(counts=ctypes.addressof(array)) for array in (send_counts, recv_counts)]
        # weft reads the counts during the call; the references are in the entry until then.
        for block, array in zip(blocks, (send_counts, recv_counts)):
            block.array = array
        return (lib.weft_all_to_all_v,
                (send.data_ptr(), byref(blocks[0]), recv.data_ptr(), byref(blocks[1]), UINT8), None)

    def alltoall(self, outputs: list[Tensor], inputs: list[Tensor], opts: Any) -> Any:
        if len(outputs) != self._ranks or len(inputs) != self._ranks:
            raise ValueError("weft all_to_all: requires one output and one input per rank")
        dense([*outputs, *inputs])

        def build() -> Job:
            send = _joined(inputs)
            recv, after = _spread(outputs)
            entry = self._exchange(send, [tensor.nbytes for tensor in inputs],
                                   recv, [tensor.nbytes for tensor in outputs])
            return Job([entry], outputs, after, (send, recv))
        return self._run(build, outputs[0].device, opts, "all_to_all", inputs)

    def barrier(self, opts: Any) -> Any:
        device = getattr(opts, "device", None) or torch.device("cpu")
        job = Job([(lib.weft_barrier, (), None)], [])
        return self._run(lambda: job, device, opts, "barrier", [])

    # Messages ---------------------------------------------------------------------------------

    def send(self, tensors: list[Tensor], dst: int, tag: int = 0) -> Any:
        alike(tensors, "send")

        def build() -> Job:
            buffer = packed(tensors[0])
            args = (buffer.data_ptr(), buffer.nbytes, UINT8, dst)
            return Job([(lib.weft_send, args, None)], tensors, None, buffer)
        return self._run(build, tensors[0].device, None, "send", tensors)

    def recv(self, tensors: list[Tensor], src: int, tag: int = 0) -> Any:
        return self._receive(tensors, src, "recv")

    def recv_anysource(self, tensors: list[Tensor], tag: int = 0) -> Any:
        return self._receive(tensors, ANY_RANK, "recvAnySource")

    def _receive(self, tensors: list[Tensor], src: int, title: str) -> Any:
        alike(tensors, title)
        source = ctypes.c_uint32(src)

        def build() -> Job:
            buffer = room(tensors[0])
            args = (buffer.data_ptr(), buffer.nbytes, UINT8, src)
            fields = {"source_p": ctypes.addressof(source)} if src == ANY_RANK else None
            return Job([(lib.weft_recv, args, fields)], tensors, _copies([(tensors[0], buffer)]),
                       (buffer, source))
        work = self._run(build, tensors[0].device, None, title, tensors)
        work._source_number = source
        return work

    # Refused ----------------------------------------------------------------------------------

    def allreduce_sparse(self, tensors: list[Tensor], opts: Any) -> Any:
        raise NotImplementedError("weft: no all_reduce of sparse tensors; make them dense first")

    # What older torch calls them ----------------------------------------------------------------

    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single
    gather_into_tensor = gather_single
    recvAnysource = recv_anysource


def seconds(timeout: timedelta | None, otherwise: float) -> float:
    """A call's timeout; torch marks "not given" by a negative one."""
    if timeout is None:
        return otherwise
    given = timeout.total_seconds()
    return given if given > 0 else otherwise
