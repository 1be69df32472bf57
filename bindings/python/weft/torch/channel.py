# SPDX-License-Identifier: BSD-3-Clause
"""A communicator and the operations that are under way on it."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import itertools
import math
import os
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from ctypes import byref
from queue import SimpleQueue
from typing import Any

import torch

from .. import _waiting
from .._library import Call, CommOptions, Completion, Error, Status, UniqueId, lib
from .errors import WeftBackendError, check, failure
from .work import Done, StreamWork, Work

# Seconds that a call waits in weft at a time. In between, handlers of signals run, such as that of
# Ctrl-C, and other threads get at the communicator.
PIECE = 0.1
# Seconds between two looks into torch's store at first, and at most PIECE later. Its own wait
# writes a warning after each piece.
PAUSE = 0.01

# Seconds that an asynchronous call may take: one that is complete by then, as short ones are if the
# other ranks are there, needs neither weft's thread nor ours, which take longer to wake.
BRIEF = 50e-6
# The longest boot.init_timeout.
DAY = 86400.0
# What weft has not written a request to.
_UNTOUCHED = 1

# The ids that this process has tried last. A store may have one until rank 0 makes the next group.
_tried: deque[bytes] = deque(maxlen=64)

# Operations that nobody waits for any longer, and their buffers.
_abandoned: list[Any] = []

Entry = tuple[Any, tuple[Any, ...], "dict[str, int] | None"]


class Job:
    """What one method of the backend asks for: calls of weft, and what follows them.

    calls: a function of weft, its arguments before the communicator, and fields of Call, or None.
    result: what the work's future holds. after: copies from the buffers of the calls to the
    caller's tensors, or None. keep: what must live until the calls are complete.
    """

    __slots__ = ("calls", "result", "after", "keep")

    def __init__(self, calls: list[Entry], result: list[torch.Tensor],
                 after: Callable[[], None] | None = None, keep: Any = None) -> None:
        self.calls = calls
        self.result = result
        self.after = after
        self.keep = keep


class _Pending:
    """A job that weft has, and the work that it ends.

    Whoever waits for it and is first ends it, or the thread of notices: claim() is given once.
    """

    def __init__(self, channel: Channel, what: str, job: Job, work: Work, timeout: float) -> None:
        self.channel = channel
        self.what = what
        self.job: Job | None = job
        self.work: Work | None = work
        self.timeout = timeout
        self.request = ctypes.c_void_p()
        self.number = 0
        self._claim = threading.Lock()
        self._noticed: int | None = None

    def want(self) -> None:
        """Has the thread of notices end the work, for those who do not wait for it in weft."""
        _notices.want(self.number)

    def claim(self) -> bool:
        return self._claim.acquire(blocking=False)

    def unclaim(self) -> None:
        """Gives the claim back, and does what the thread of notices left to its holder."""
        self._claim.release()
        self.notice()

    def wait(self, limit: float) -> None:
        """Waits in weft, which is the fastest way, and ends the work. The claim is the caller's.

        limit: seconds, or 0 for as long as it takes. If they have passed, or a handler of a signal
        raises, the claim is given back.
        """
        until = time.monotonic() + limit if limit > 0 else math.inf
        piece = min(PIECE, limit) if limit > 0 else PIECE
        status = 1
        try:
            while (status := lib.weft_request_wait_for(byref(self.request), piece)) > 0:
                piece = min(PIECE, until - time.monotonic())
                if piece <= 0:
                    break
        except BaseException:
            self.unclaim()
            raise
        if status > 0:
            self.unclaim()
        else:
            self.end(status)

    def test(self) -> None:
        """Ends the work if the job is complete, and nobody else is about to."""
        if self.claim():
            status = lib.weft_request_test(byref(self.request))
            if status > 0:
                self.unclaim()
            else:
                self.end(status)

    def notice(self, status: int | None = None) -> None:
        """Takes the entry of the queue, and ends the work if nobody else is about to."""
        if status is not None:
            self._noticed = status
        if self._noticed is not None and self.claim():
            # The request has been told of; this only frees it.
            lib.weft_request_test(byref(self.request))
            self.end(self._noticed)

    def end(self, status: int) -> None:
        """Ends the work, in the thread that got the status."""
        error: BaseException | None = None
        if status:
            error = failure(status, self.what, self.channel.comm, self.timeout)
        elif self.job.after is not None:
            try:
                self.job.after()
            except Exception as raised:
                error = raised
        work, self.work = self.work, None
        self.job = None
        work.end(error)


class _Notices:
    """The completion queue of the process, and the threads that read it when they have to.

    A work that is waited for needs no thread, and to wake one takes longer than a short message
    does. So the threads sleep until somebody wants to be told: a future, a second waiter. What else
    comes into the queue is taken out by later calls.

    One thread reads at a time. The callbacks of a future run in the thread that ends it, and may
    wait for other futures, so that thread first has another one read. There are as many threads as
    callbacks have waited at once, and one.

    It also keeps what belongs to operations under way: their buffers must outlive them, whatever
    becomes of the works.
    """

    ENTRIES = 64
    # Jobs under way, or ended and not read, above which a call looks into the queue.
    FEW = 4
    # Seconds that the end of the process waits for callbacks that run.
    PATIENCE = 1.0

    def __init__(self) -> None:
        self.queue = ctypes.c_void_p()
        self._pending: dict[int, _Pending] = {}
        self._wanted: set[int] = set()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._numbers = itertools.count(1)
        self._starting = threading.Lock()
        self._reading = threading.Lock()
        self._idle = 0
        self._threads: set[threading.Thread] = set()
        self._stopping = False
        self._counting = threading.Lock()

    def enter(self, pending: _Pending) -> int:
        """Makes the pending job known; the number is the context of its call."""
        if not self.queue:
            self._start()
        if len(self._pending) >= self.FEW and not self._wanted:
            self._tidy()
        number = next(self._numbers)
        self._pending[number] = pending
        return number

    def withdraw(self, number: int) -> None:
        """Forgets a job that weft did not take."""
        del self._pending[number]
        self._wanted.discard(number)

    def want(self, number: int) -> None:
        """Has a thread read the queue until the job has ended."""
        self._wanted.add(number)
        if number not in self._pending:
            self._wanted.discard(number)
        elif not self._reading.locked():
            # Who reads looks again at what is wanted when it has stopped.
            self._ring()

    def stop(self) -> None:
        """Ends the threads, at the end of the process; later futures have new ones.

        Python would end them where they want its lock next. In a callback that can be within
        torch's C++, which then aborts the process.
        """
        with self._counting:
            self._stopping = True
            threads = list(self._threads)
        for _ in threads:
            self._bell.put(None)
        if self.queue:
            lib.weft_completion_queue_wake(self.queue)
        until = time.monotonic() + self.PATIENCE
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        self._stopping = False

    def _start(self) -> None:
        with self._starting:
            if self.queue:
                return
            queue = ctypes.c_void_p()
            check(lib.weft_completion_queue_create(byref(queue)), "completion queue")
            self.queue = queue

    def _ring(self) -> None:
        """Wakes a thread that reads, or starts one if all of them are in callbacks."""
        with self._counting:
            if self._stopping:
                return
            if self._bell.qsize() >= self._idle:
                self._idle += 1
                thread = threading.Thread(target=self._run, name="weft notices", daemon=True)
                self._threads.add(thread)
                thread.start()
            self._bell.put(None)

    def _take(self, entries: Any) -> None:
        for entry in entries:
            pending = self._pending.pop(entry.context)
            self._wanted.discard(entry.context)
            pending.notice(entry.status)

    def _tidy(self) -> None:
        entries, count = (Completion * self.ENTRIES)(), ctypes.c_uint32()
        if lib.weft_completion_queue_poll(self.queue, entries, self.ENTRIES, byref(count)) == 0:
            self._take(entries[:count.value])

    def _run(self) -> None:
        while True:
            self._bell.get()
            with self._counting:
                self._idle -= 1
                if self._stopping:
                    self._threads.discard(threading.current_thread())
                    return
            while self._wanted and not self._stopping and self._read():
                pass
            with self._counting:
                self._idle += 1

    def _read(self) -> bool:
        """Waits for one entry and ends its work; False if another thread reads, or on an error.

        One entry: the callbacks of the first of several might wait for the second.
        """
        if not self._reading.acquire(blocking=False):
            return False
        entry, count = (Completion * 1)(), ctypes.c_uint32()
        try:
            status = lib.weft_completion_queue_wait(self.queue, entry, 1, byref(count), -1.0)
            self._wanted.discard(entry[0].context)
        finally:
            self._reading.release()
        if status != 0:
            return False
        if self._wanted:
            self._ring()
        self._take(entry[:count.value])
        return True


_notices = _Notices()


def _after_fork() -> None:
    global _notices
    _notices = _Notices()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(lambda: _notices.stop())


def _wait_for_ranks(function: Callable[[], int], what: str, comm: ctypes.c_void_p | None,
                    cancel: Callable[[], object], made: ctypes.c_void_p) -> None:
    """Makes a call that waits for other ranks. An exception of a signal's handler cancels it.

    made: where it stores a communicator.
    """
    def run() -> int:
        check(function(), what, comm)
        return 0
    try:
        _waiting.call(run, cancel)
    except BaseException:
        # A handler raised when it was made: nobody will have it.
        lib.weft_comm_destroy(made)
        raise


class _Slot:
    """The options of a call that waits, to be used again."""

    def __init__(self) -> None:
        self.request = ctypes.c_void_p()
        self.call = Call(request_p=ctypes.addressof(self.request), patience=PIECE)
        self.call_p = byref(self.call)


class Channel:
    """One rank's end of a communicator for tensors of one kind of device.

    weft lets one thread at a time into a communicator; the lock sees to it.
    """

    def __init__(self, comm: ctypes.c_void_p, device: str, timeout: float) -> None:
        self.comm: ctypes.c_void_p | None = comm
        self.device = device
        self.timeout = timeout
        self.lock = threading.Lock()
        self.sequence = 0
        self._side: Any = None
        self._slots: list[_Slot] = []

    # Calls ------------------------------------------------------------------------------------

    def _handle(self) -> ctypes.c_void_p:
        if self.comm is None:
            raise RuntimeError("weft: the process group has been shut down")
        return self.comm

    def _issue(self, job: Job, timeout: float, request: Any = None, number: int = 0,
               stream: Any = None, patience: float = 0.0) -> int:
        """Gives the calls to weft, as a group if they are several; the lock is held."""
        comm = self._handle()
        alone = len(job.calls) == 1
        if not alone:
            lib.weft_group_start()
        status = 0
        for function, args, fields in job.calls:
            call = Call(timeout=timeout, **(fields or {}))
            if alone and request is not None:
                call.request_p = ctypes.addressof(request)
                call.patience = patience
                if number:
                    call.queue, call.context = _notices.queue, number
            if stream is not None:
                call.stream = ctypes.addressof(stream)
            status = function(*args, comm, byref(call))
            if status:
                break
        if alone:
            return status
        if request is None or status:
            return lib.weft_group_end() or status
        call = Call(request_p=ctypes.addressof(request), patience=patience)
        if number:
            call.queue, call.context = _notices.queue, number
        return lib.weft_group_end_async(byref(call))

    def all_reduce_now(self, tensor: torch.Tensor, dtype: int, op: int) -> None:
        """run() of the shortest job: one buffer, in place, the default timeout."""
        slot = self._slots.pop() if self._slots else _Slot()
        slot.call.timeout = self.timeout
        at = tensor.data_ptr()
        with self.lock:
            status = lib.weft_all_reduce(at, at, tensor.numel(), dtype, op, self._handle(),
                                         slot.call_p)
            if status:
                raise failure(status, "all_reduce", self.comm, self.timeout)
        if slot.request.value is not None:
            self._wait(slot.request, "all_reduce", self.timeout, (slot, tensor))
        self._slots.append(slot)

    def _wait(self, request: ctypes.c_void_p, what: str, timeout: float, keep: Any) -> None:
        """Waits in pieces, so that handlers of signals run. If one raises, the call goes on."""
        status = 1
        try:
            while status > 0:
                status = lib.weft_request_wait_for(byref(request), PIECE)
        except BaseException:
            _abandoned.append((request, keep))
            raise
        if status:
            raise failure(status, what, self.comm, timeout)

    def run(self, job: Job, what: str, timeout: float) -> Done:
        """Runs a job in this thread, until it is complete."""
        if job.calls:
            request = ctypes.c_void_p()
            with self.lock:
                status = self._issue(job, timeout, request, patience=PIECE)
                if status:
                    raise failure(status, what, self.comm, timeout)
            # Other threads may use the communicator while this one waits.
            if request.value is not None:
                self._wait(request, what, timeout, job)
        if job.after is not None:
            job.after()
        return Done(job.result)

    def post(self, job: Job, what: str, timeout: float, event: Any = None) -> Work:
        """Starts a job and returns at once."""
        self.sequence += 1
        work = Work(job.result, self.sequence, event)
        if not job.calls:
            work.end()
            return work
        pending = _Pending(self, what, job, work, timeout)
        pending.number = number = _notices.enter(pending)
        if event is not None:
            pending.want()
        pending.request.value = _UNTOUCHED
        # An event that begins and ends in one thread is none of an asynchronous operation: its work
        # is left to the thread of notices. Others nobody ends until the request was looked at.
        brief = event is None and pending.claim()
        with self.lock:
            status = self._issue(job, timeout, pending.request, number,
                                 patience=BRIEF if brief else 0.0)
        if brief and pending.request.value is None:
            # Complete, or failed on its way: whoever waits is told.
            _notices.withdraw(number)
            pending.end(status)
        elif status:
            _notices.withdraw(number)
            error = failure(status, what, self.comm, timeout)
            work.end(error)
            raise error
        elif brief:
            work.pending = pending
            pending.unclaim()
        return work

    # Streams of a device ----------------------------------------------------------------------

    def stream_for(self, blocking: bool) -> Any:
        """The stream of a call: the caller's if he waits for it anyway, else one beside it."""
        current = torch.cuda.current_stream()
        if blocking:
            return current
        if self._side is None:
            self._side = torch.cuda.Stream()
        self._side.wait_stream(current)
        return self._side

    def enqueue(self, job: Job, what: str, timeout: float, stream: Any,
                blocks_host: bool) -> StreamWork:
        """Puts a job into a stream; torch's stream is the current one."""
        self.sequence += 1
        if job.calls:
            with self.lock:
                status = self._issue(job, timeout, stream=ctypes.c_void_p(stream.cuda_stream))
                if status:
                    raise failure(status, what, self.comm, timeout)
        if job.after is not None:
            job.after()
        return StreamWork(job.result, stream, blocks_host, self.sequence)

    # Life -------------------------------------------------------------------------------------

    def error(self) -> WeftBackendError | None:
        """The failure that ended the communicator."""
        record = Error()
        if self.comm is None or lib.weft_comm_error(self.comm, byref(record)) or not record.status:
            return None
        return failure(record.status, "communicator", self.comm)

    def split(self, color: int, key: int, timeout: float) -> Channel | None:
        """The part of the communicator with this color; all ranks of it call this."""
        child = ctypes.c_void_p()
        with self.lock:
            comm = self._handle()
            _wait_for_ranks(lambda: lib.weft_comm_split(comm, color, key, byref(child)), "split",
                            comm, self.abort, child)
        return Channel(child, self.device, timeout) if child.value else None

    def members(self, ranks: Sequence[int], tag: int, timeout: float) -> Channel:
        """A communicator of these ranks; only they call this. It shares what the parent has."""
        child = ctypes.c_void_p()
        array = (ctypes.c_uint32 * len(ranks))(*ranks)
        comm = self._handle()
        _wait_for_ranks(
            lambda: lib.weft_comm_create_group(comm, array, len(ranks), tag, byref(child)),
            "new_group", comm, self.abort, child)
        return Channel(child, self.device, timeout)

    def abort(self) -> None:
        if self.comm is not None:
            lib.weft_comm_abort(self.comm)

    def close(self) -> None:
        """Leaves the communicator. One that another thread is inside of stays, for another try."""
        with self.lock:
            comm, self.comm = self.comm, None
        if comm is None:
            return

        def leave() -> int:
            if lib.weft_comm_destroy(comm):
                self.comm = comm
            return 0
        _waiting.call(leave, lambda: lib.weft_comm_abort(comm))


def _seconds_to_join(timeout: float) -> bytes:
    """What rank 0 tells the others besides the id, since all must have the same boot.init_timeout:
    the group's timeout, or nothing if the user has set the option."""
    value = ctypes.create_string_buffer(1001)
    check(lib.weft_option_given(None, b"boot", b"init_timeout", value, len(value)), "init")
    return b"" if value.value else struct.pack("<d", min(max(timeout, 0.001), DAY))


def _options(device: str, index: int | None, seconds_to_join: bytes) -> CommOptions:
    settings = [] if device == "cpu" else [b"core.kernel=kernel-cuda"]
    if settings and index is not None:
        settings.append(b"kernel-cuda.device=%d" % index)
    if seconds_to_join:
        settings.append(b"boot.init_timeout=%.3fs" % struct.unpack("<d", seconds_to_join))
    array = (ctypes.c_char_p * len(settings))(*settings)
    return CommOptions(settings=array, settings_count=len(settings))


def _given_by_rank_0(store: Any, key: str, timeout: float, cancel: _waiting.Cancel) -> bytes:
    """What rank 0 has put into torch's store for this group, and not for an earlier one."""
    deadline, pause = time.monotonic() + timeout, PAUSE
    while not cancel.called and time.monotonic() < deadline:
        if store.check([key]):
            given = bytes.fromhex(store.get(key).decode())
            if given not in _tried:
                _tried.append(given)
                return given
        time.sleep(pause)
        pause = min(1.5 * pause, PIECE)
    status = Status.ERR_ABORTED if cancel.called else Status.ERR_TIMEOUT
    why = "cancelled" if cancel.called else f"no id of rank 0 after {timeout:g} s"
    raise WeftBackendError(f"weft init: {status.name}: {why}, in torch's store under {key}",
                           status, Error(rank=-1, peer=0))


def connect(store: Any, rank: int, size: int, device: str, index: int | None,
            timeout: float, cancel: _waiting.Cancel | None = None) -> Channel:
    """Joins a communicator of `size` ranks; its id goes through torch's store.

    timeout: seconds that the ranks may take to join, and operations afterwards. cancel: ends the
    joining when another thread calls it.
    """
    unique_id, cancel = UniqueId(), cancel or _waiting.Cancel()
    key, id_bytes = f"weft/{device}", ctypes.sizeof(unique_id)
    if rank == 0:
        seconds = _seconds_to_join(timeout)
        options = _options(device, index, seconds)
        check(lib.weft_unique_id_create(byref(unique_id), byref(options)), "init")
        store.set(key, (bytes(unique_id.bytes) + seconds).hex())
    else:
        given = _given_by_rank_0(store, key, timeout, cancel)
        ctypes.memmove(byref(unique_id), given, id_bytes)
        options = _options(device, index, given[id_bytes:])
    comm = ctypes.c_void_p()
    options.cancel_fd = cancel.fd

    def init() -> int:
        return lib.weft_comm_init_rank(byref(comm), size, byref(unique_id), rank, byref(options))
    _wait_for_ranks(lambda: cancel.during(init), "init", None, cancel, comm)
    if rank == 0:
        # All have read it. A process that comes later would join in vain.
        with contextlib.suppress(RuntimeError):  # not all stores can
            store.delete_key(key)
    return Channel(comm, device, timeout)
