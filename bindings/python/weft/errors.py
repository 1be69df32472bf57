# SPDX-License-Identifier: BSD-3-Clause
"""Failures of the library as exceptions. Each has the fields of weft_error_t."""

from __future__ import annotations

import ctypes
from typing import Any

from ._library import Error, Status, lib


class WeftError(RuntimeError):
    """A call of the library failed. Where a field does not apply, it is None or empty.

    status     weft.Status
    rank       rank that reports the failure
    peer       rank that caused it
    peer_pid   process id of that rank
    host       host name of that rank
    sequence   number of the operation in the communicator, from 1
    comm_id    number of the communicator, equal on all ranks
    os_errno   errno of the failed system call
    transport  plugin concerned
    text       one line: what failed, where, and the remedy
    """

    def __init__(self, status: int, error: Error | None = None) -> None:
        error = error if error is not None else Error()
        self._record = bytes(error)
        self.status = Status(status)
        self.rank = _number(error.rank)
        self.peer = _number(error.peer)
        self.peer_pid = _number(error.peer_pid)
        self.host = error.peer_host.decode(errors="replace")
        self.sequence = error.sequence or None
        self.comm_id = error.comm_id
        self.os_errno = _number(error.os_errno) or None
        self.transport = error.transport.decode(errors="replace")
        self.text = error.text.decode(errors="replace") or status_text(status)
        super().__init__(f"{self.status.name}: {self.text}")

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), int(self.status), self._record)


def _rebuild(kind: type[WeftError], status: int, record: bytes) -> WeftError:
    return kind(status, Error.from_buffer_copy(record))


class ArgumentError(WeftError, ValueError):
    """An argument is invalid. Nothing was sent and the communicator is unchanged."""


class StateError(WeftError):
    """The call is not allowed in this state: destroyed, a second thread, a forked child."""


class ConfigError(WeftError):
    """An option, a file of options or a variable of the environment is wrong."""


class PluginError(WeftError):
    """A plugin cannot be used."""


class Mismatch(WeftError):
    """The ranks disagree about the call. The text names two ranks and the argument."""


class PeerDead(WeftError):
    """A rank died."""


class PeerUnresponsive(WeftError):
    """A rank no longer answers."""


class PeerLeft(WeftError):
    """A rank left the communicator."""


class LinkLost(WeftError):
    """A connection was lost."""


class Timeout(WeftError, TimeoutError):
    """A deadline passed. The text names the ranks that were waited for."""


class Aborted(WeftError):
    """A rank aborted the communicator."""


class AuthError(WeftError):
    """Authentication failed."""


class ProtocolError(WeftError):
    """A message was malformed or not expected."""


class ResourceError(WeftError):
    """Memory, descriptors or another limit are exhausted."""


class SystemFailure(WeftError):
    """A system call failed; os_errno says how."""


class InternalError(WeftError):
    """A defect of weft; please report it."""


class Unsupported(WeftError):
    """No loaded algorithm or kernel can run the call."""


class PlanRefused(WeftError):
    """The verifier refused a plan."""


class Revoked(WeftError):
    """A rank revoked the communicator, so that all leave their calls."""


KINDS: dict[int, type[WeftError]] = {
    Status.ERR_ARG: ArgumentError,
    Status.ERR_STATE: StateError,
    Status.ERR_CONFIG: ConfigError,
    Status.ERR_PLUGIN: PluginError,
    Status.ERR_MISMATCH: Mismatch,
    Status.ERR_PEER_DEAD: PeerDead,
    Status.ERR_PEER_UNRESPONSIVE: PeerUnresponsive,
    Status.ERR_PEER_LEFT: PeerLeft,
    Status.ERR_LINK: LinkLost,
    Status.ERR_TIMEOUT: Timeout,
    Status.ERR_ABORTED: Aborted,
    Status.ERR_AUTH: AuthError,
    Status.ERR_PROTO: ProtocolError,
    Status.ERR_RESOURCE: ResourceError,
    Status.ERR_SYSTEM: SystemFailure,
    Status.ERR_INTERNAL: InternalError,
    Status.ERR_UNSUPPORTED: Unsupported,
    Status.ERR_PLAN: PlanRefused,
    Status.ERR_REVOKED: Revoked,
}


def _number(value: int) -> int | None:
    return None if value == -1 else value


def status_text(status: int) -> str:
    """The status in words."""
    return str(lib.weft_status_text(status).decode())


def failure(status: int, comm: int | None = None) -> WeftError:
    """The exception for a status that a call just returned in this thread."""
    error = Error()
    lib.weft_last_error(ctypes.byref(error))
    if error.status != status and comm is not None:
        error = Error()
        lib.weft_comm_error(comm, ctypes.byref(error))
    if error.status != status:
        error = Error(rank=-1, peer=-1, peer_pid=-1, os_errno=-1)
    return KINDS.get(status, WeftError)(status, error)


def _record(status: int, text: bytes) -> Error:
    return Error(status=status, rank=-1, peer=-1, peer_pid=-1, os_errno=-1, text=text)


def _state(text: bytes) -> StateError:
    return StateError(Status.ERR_STATE, _record(Status.ERR_STATE, text))


def destroyed() -> StateError:
    """The exception for a call of a communicator that has been destroyed."""
    return _state(b"the communicator has been destroyed")


def inherited() -> StateError:
    """The exception for a call of a communicator that a forked child has from its parent."""
    return _state(
        b"the communicator belongs to the parent of this forked child, which makes one of its own"
    )


def cancelled() -> StateError:
    """The exception at the end of a group in which a group was left by an exception."""
    return _state(b"the group was cancelled by an exception inside it: nothing of it was started")


def captured(stream: int) -> StateError:
    """The exception for an array whose stream is in a capture that the call's is not in."""
    return _state(
        b"stream %#x of an array is being captured, or waits for one that is: a call on the array "
        b"needs a stream of the same capture; nothing was started" % stream
    )


def late(stream: int, seconds: float) -> Timeout:
    """The exception for an array whose stream has not come to its end."""
    text = (
        f"after {seconds:g} s stream {stream:#x} of an array, in which its owner may have put "
        "work, has not come to its end; nothing was started"
    )
    return Timeout(Status.ERR_TIMEOUT, _record(Status.ERR_TIMEOUT, text.encode()))


def check(status: int, comm: int | None = None) -> None:
    """Raises the exception of a failure."""
    if status < 0:
        raise failure(status, comm)
