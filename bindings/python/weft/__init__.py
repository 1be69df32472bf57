# SPDX-License-Identifier: BSD-3-Clause
"""weft: collective communication between the ranks of a job.

    import numpy, weft
    with weft.Communicator() as comm:      # joins the launcher's job
        x = numpy.full(1000, comm.rank, numpy.float32)
        comm.all_reduce(x)                 # the sum over all ranks, in place

Arrays are used where they are, without copies: numpy, torch, CuPy, everything with a buffer or with
DLPack. docs/python.md is the guide; the rules of each call are those of weft.h.
"""

from ._library import ANY_RANK, SONAME, Coll, Dtype, Op, Status, lib
from ._operations import Group, Request, group
from .communicator import Communicator, Launcher, unique_id
from .errors import (
    Aborted,
    ArgumentError,
    AuthError,
    ConfigError,
    InternalError,
    LinkLost,
    Mismatch,
    PeerDead,
    PeerLeft,
    PeerUnresponsive,
    PlanRefused,
    PluginError,
    ProtocolError,
    ResourceError,
    Revoked,
    StateError,
    SystemFailure,
    Timeout,
    Unsupported,
    WeftError,
)
from .memory import Allocation, Operator, Registration, Window, alloc

SUM, PROD, MIN, MAX, AVG, PREMULSUM = Op.SUM, Op.PROD, Op.MIN, Op.MAX, Op.AVG, Op.PREMULSUM
BAND, BOR, BXOR = Op.BAND, Op.BOR, Op.BXOR

__version__: str = lib.weft_version().decode()

__all__ = [
    "ANY_RANK",
    "AVG",
    "Aborted",
    "Allocation",
    "ArgumentError",
    "AuthError",
    "BAND",
    "BOR",
    "BXOR",
    "Coll",
    "Communicator",
    "ConfigError",
    "Dtype",
    "Group",
    "InternalError",
    "Launcher",
    "LinkLost",
    "MAX",
    "MIN",
    "Mismatch",
    "Op",
    "Operator",
    "PREMULSUM",
    "PROD",
    "PeerDead",
    "PeerLeft",
    "PeerUnresponsive",
    "PlanRefused",
    "PluginError",
    "ProtocolError",
    "Registration",
    "Request",
    "ResourceError",
    "Revoked",
    "SONAME",
    "SUM",
    "StateError",
    "Status",
    "SystemFailure",
    "Timeout",
    "Unsupported",
    "WeftError",
    "Window",
    "alloc",
    "group",
    "unique_id",
]
