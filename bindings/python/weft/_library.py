# SPDX-License-Identifier: BSD-3-Clause
"""The C library: every function, struct and number of weft.h, for ctypes.

Nothing here is checked or converted: the functions return statuses, take addresses, and have the
rules of weft.h. The rest of the package is built on `lib`, and so are other bindings. A test
compares this file with the header.
"""

from __future__ import annotations

import ctypes
import enum
import pathlib
from ctypes import (
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

# Name of the library: its number changes when programs must be compiled anew.
SONAME = "libweft.so.0"

ANY_RANK = 0xFFFFFFFF
COLOR_NONE = -1
UNIQUE_ID_BYTES = 128
TICKET_BYTES = 160


class Status(enum.IntEnum):
    """weft_status_t. 0 is success, positive values mean "not yet", negative ones are failures."""

    OK = 0
    IN_PROGRESS = 1
    AGAIN = 2
    ERR_ARG = -1
    ERR_STATE = -2
    ERR_CONFIG = -3
    ERR_PLUGIN = -4
    ERR_MISMATCH = -5
    ERR_PEER_DEAD = -6
    ERR_PEER_UNRESPONSIVE = -7
    ERR_PEER_LEFT = -8
    ERR_LINK = -9
    ERR_TIMEOUT = -10
    ERR_ABORTED = -11
    ERR_AUTH = -12
    ERR_PROTO = -13
    ERR_RESOURCE = -14
    ERR_SYSTEM = -15
    ERR_INTERNAL = -16
    ERR_UNSUPPORTED = -17
    ERR_PLAN = -18
    ERR_REVOKED = -19


class Dtype(enum.IntEnum):
    """weft_dtype_t: the type of an element."""

    INT8 = 0
    UINT8 = 1
    INT16 = 2
    UINT16 = 3
    INT32 = 4
    UINT32 = 5
    INT64 = 6
    UINT64 = 7
    FP16 = 8
    FP32 = 9
    FP64 = 10
    BF16 = 11
    FP8_E4M3 = 12
    FP8_E5M2 = 13


class Op(enum.IntEnum):
    """weft_op_t: a reduction operator."""

    SUM = 0
    PROD = 1
    MIN = 2
    MAX = 3
    AVG = 4
    PREMULSUM = 5
    BAND = 6
    BOR = 7
    BXOR = 8


class Coll(enum.IntEnum):
    """weft_coll_t: a collective."""

    ALL_REDUCE = 0
    REDUCE_SCATTER = 1
    ALL_GATHER = 2
    BROADCAST = 3
    REDUCE = 4
    BARRIER = 5
    ALL_TO_ALL = 6
    GATHER = 7
    SCATTER = 8
    ALL_GATHER_V = 9
    REDUCE_SCATTER_V = 10
    ALL_TO_ALL_V = 11
    GATHER_V = 12
    SCATTER_V = 13
    SEND_RECV = 14


class ScalarRead(enum.IntEnum):
    """weft_scalar_read_t: when the factor of a PREMULSUM is read."""

    AT_CALL = 0
    AT_RUN = 1


class _Sized(ctypes.Structure):
    """A struct whose first field is its size, which is set here."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=ctypes.sizeof(type(self)), **fields)


class Error(_Sized):
    """weft_error_t"""

    _fields_ = [
        ("size", c_size_t),
        ("status", c_int),
        ("rank", c_int32),
        ("peer", c_int32),
        ("peer_pid", c_int32),
        ("os_errno", c_int32),
        ("comm_id", c_uint64),
        ("sequence", c_uint64),
        ("peer_host", c_char * 64),
        ("transport", c_char * 32),
        ("text", c_char * 512),
    ]


class UniqueId(ctypes.Structure):
    """weft_unique_id_t"""

    _fields_ = [("bytes", c_uint8 * UNIQUE_ID_BYTES)]


class Ticket(ctypes.Structure):
    """weft_ticket_t"""

    _fields_ = [("bytes", c_uint8 * TICKET_BYTES)]


class CommOptions(_Sized):
    """weft_comm_options_t"""

    _fields_ = [
        ("size", c_size_t),
        ("config", c_char_p),
        ("settings", ctypes.POINTER(c_char_p)),
        ("settings_count", c_uint32),
        ("name", c_char_p),
        ("cancel_fd", c_int32),
    ]


class Launcher(_Sized):
    """weft_launcher_t"""

    _fields_ = [
        ("size", c_size_t),
        ("name", c_char * 16),
        ("rank", c_uint32),
        ("nranks", c_uint32),
        ("local_rank", c_uint32),
        ("local_ranks", c_uint32),
    ]


class Call(_Sized):
    """weft_call_t"""

    _fields_ = [
        ("size", c_size_t),
        ("request_p", c_void_p),
        ("timeout", c_double),
        ("scalar", c_void_p),
        ("scalar_read", c_uint32),
        ("stream", c_void_p),
        ("source_p", c_void_p),
        ("queue", c_void_p),
        ("context", c_void_p),
        ("patience", c_double),
    ]


class Blocks(ctypes.Structure):
    """weft_blocks_t"""

    _fields_ = [("counts", c_void_p), ("displs", c_void_p)]


class Completion(ctypes.Structure):
    """weft_completion_t"""

    _fields_ = [
        ("request", c_void_p),
        ("context", c_void_p),
        ("status", c_int),
        ("reserved", c_uint32),
    ]


# Structs and numbers by their names in C, for the comparison with the header.
STRUCTS: dict[str, type[ctypes.Structure]] = {
    "weft_error_t": Error,
    "weft_unique_id_t": UniqueId,
    "weft_ticket_t": Ticket,
    "weft_comm_options_t": CommOptions,
    "weft_launcher_t": Launcher,
    "weft_call_t": Call,
    "weft_blocks_t": Blocks,
    "weft_completion_t": Completion,
}
ENUMS: dict[str, type[enum.IntEnum]] = {
    "weft_status_t": Status,
    "weft_dtype_t": Dtype,
    "weft_op_t": Op,
    "weft_coll_t": Coll,
    "weft_scalar_read_t": ScalarRead,
}

# weft_op_fn_t(inout, in, count, dtype, arg). ctypes takes the GIL for it, in any thread.
OP_FN = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_uint64, c_int, c_void_p)

# Handles, buffers and places for results are addresses: an int, None, or byref() of something.
_P, _STATUS, _ENUM = c_void_p, c_int, c_int

# name: (result, parameters), in the order of weft.h.
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "weft_version": (c_char_p, ()),
    "weft_status_name": (c_char_p, (_ENUM,)),
    "weft_status_text": (c_char_p, (_ENUM,)),
    "weft_dtype_name": (c_char_p, (_ENUM,)),
    "weft_op_name": (c_char_p, (_ENUM,)),
    "weft_coll_name": (c_char_p, (_ENUM,)),
    "weft_op_has_dtype": (_ENUM, (_ENUM, _ENUM)),
    "weft_dtype_size": (c_size_t, (_ENUM,)),
    "weft_last_error": (_STATUS, (_P,)),
    "weft_comm_error": (_STATUS, (_P, _P)),
    "weft_comm_missing": (_STATUS, (_P, _P, c_uint32, _P)),
    "weft_unique_id_create": (_STATUS, (_P, _P)),
    "weft_unique_id_check": (_STATUS, (_P,)),
    "weft_comm_init_rank": (_STATUS, (_P, c_uint32, _P, c_uint32, _P)),
    "weft_launcher_detect": (_STATUS, (_P,)),
    "weft_launcher_exchange_id": (_STATUS, (_P, _P, _P)),
    "weft_comm_init_launcher": (_STATUS, (_P, _P)),
    "weft_comm_split": (_STATUS, (_P, c_int32, c_int32, _P)),
    "weft_comm_dup": (_STATUS, (_P, _P)),
    "weft_comm_create_group": (_STATUS, (_P, _P, c_uint32, c_uint32, _P)),
    "weft_comm_destroy": (_STATUS, (_P,)),
    "weft_comm_abort": (_STATUS, (_P,)),
    "weft_comm_revoke": (_STATUS, (_P,)),
    "weft_comm_error_fd": (_STATUS, (_P, _P)),
    "weft_comm_agree": (_STATUS, (_P, _P)),
    "weft_comm_shrink": (_STATUS, (_P, _P, c_uint32, _P)),
    "weft_comm_ticket": (_STATUS, (_P, _P, c_uint32, _P)),
    "weft_comm_grow": (_STATUS, (_P, _P, c_uint32, _P)),
    "weft_comm_join": (_STATUS, (_P, _P, _P)),
    "weft_comm_rank": (_STATUS, (_P, _P)),
    "weft_comm_size": (_STATUS, (_P, _P)),
    "weft_comm_name": (_STATUS, (_P, _P, c_size_t)),
    "weft_comm_set_name": (_STATUS, (_P, c_char_p)),
    "weft_comm_set_channels": (_STATUS, (_P, c_uint32)),
    "weft_comm_explain": (_STATUS, (_P, _ENUM, c_uint64, _ENUM, _ENUM, c_uint32, _P, c_size_t)),
    "weft_comm_predict": (_STATUS, (_P, _ENUM, c_uint64, _ENUM, _ENUM, c_uint32, _P)),
    "weft_mem_alloc": (_STATUS, (_P, c_uint64, _P)),
    "weft_mem_alloc_device": (_STATUS, (_P, c_uint64, _P)),
    "weft_mem_copy": (_STATUS, (_P, _P, _P, c_uint64)),
    "weft_mem_free": (_STATUS, (_P, _P)),
    "weft_mem_register": (_STATUS, (_P, _P, c_uint64, _P)),
    "weft_mem_deregister": (_STATUS, (_P, _P)),
    "weft_window_register": (_STATUS, (_P, _P, c_uint64, _P)),
    "weft_window_deregister": (_STATUS, (_P, _P)),
    "weft_op_create": (_STATUS, (_P, OP_FN, _P, _P)),
    "weft_op_destroy": (_STATUS, (_P, _ENUM)),
    "weft_all_reduce": (_STATUS, (_P, _P, c_uint64, _ENUM, _ENUM, _P, _P)),
    "weft_reduce_scatter": (_STATUS, (_P, _P, c_uint64, _ENUM, _ENUM, _P, _P)),
    "weft_all_gather": (_STATUS, (_P, _P, c_uint64, _ENUM, _P, _P)),
    "weft_broadcast": (_STATUS, (_P, _P, c_uint64, _ENUM, c_uint32, _P, _P)),
    "weft_reduce": (_STATUS, (_P, _P, c_uint64, _ENUM, _ENUM, c_uint32, _P, _P)),
    "weft_all_to_all": (_STATUS, (_P, _P, c_uint64, _ENUM, _P, _P)),
    "weft_gather": (_STATUS, (_P, _P, c_uint64, _ENUM, c_uint32, _P, _P)),
    "weft_scatter": (_STATUS, (_P, _P, c_uint64, _ENUM, c_uint32, _P, _P)),
    "weft_all_gather_v": (_STATUS, (_P, _P, _P, _P, _ENUM, _P, _P)),
    "weft_reduce_scatter_v": (_STATUS, (_P, _P, _P, _P, _ENUM, _ENUM, _P, _P)),
    "weft_all_to_all_v": (_STATUS, (_P, _P, _P, _P, _ENUM, _P, _P)),
    "weft_gather_v": (_STATUS, (_P, c_uint64, _P, _P, _ENUM, c_uint32, _P, _P)),
    "weft_scatter_v": (_STATUS, (_P, _P, _P, c_uint64, _ENUM, c_uint32, _P, _P)),
    "weft_barrier": (_STATUS, (_P, _P)),
    "weft_send": (_STATUS, (_P, c_uint64, _ENUM, c_uint32, _P, _P)),
    "weft_recv": (_STATUS, (_P, c_uint64, _ENUM, c_uint32, _P, _P)),
    "weft_window_register_local": (_STATUS, (_P, _P, c_uint64, _P)),
    "weft_put_signal": (_STATUS, (_P, c_uint64, _ENUM, c_uint32, _P, c_uint64, _P, _P)),
    "weft_signal": (_STATUS, (c_uint32, _P, _P)),
    "weft_wait_signal": (_STATUS, (c_uint32, c_uint64, _P, _P)),
    "weft_group_start": (_STATUS, ()),
    "weft_group_end": (_STATUS, ()),
    "weft_group_end_async": (_STATUS, (_P,)),
    "weft_group_cancel": (_STATUS, ()),
    "weft_option_given": (_STATUS, (_P, c_char_p, c_char_p, _P, c_size_t)),
    "weft_request_test": (_STATUS, (_P,)),
    "weft_request_wait": (_STATUS, (_P,)),
    "weft_request_wait_for": (_STATUS, (_P, c_double)),
    "weft_completion_queue_create": (_STATUS, (_P,)),
    "weft_completion_queue_destroy": (_STATUS, (_P,)),
    "weft_completion_queue_fd": (_STATUS, (_P, _P)),
    "weft_completion_queue_poll": (_STATUS, (_P, _P, c_uint32, _P)),
    "weft_completion_queue_wait": (_STATUS, (_P, _P, c_uint32, _P, c_double)),
    "weft_completion_queue_wake": (_STATUS, (_P,)),
}


def library_path() -> str:
    """The library of the package if it carries one, else a name that the loader looks for."""
    beside = pathlib.Path(__file__).with_name("lib") / SONAME
    return str(beside) if beside.exists() else SONAME


def loaded_file() -> pathlib.Path | None:
    """The file that the loader found for the library."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            name = line.rstrip("\n").partition("/")[2]
            if "/libweft.so" in f"/{name}":
                return pathlib.Path(f"/{name}")
    return None


def _lacks(library: ctypes.CDLL, path: str, name: str) -> ImportError:
    found = loaded_file() or path
    version = getattr(library, "weft_version", None)
    if version is None:
        return ImportError(f"{found} is no library of weft: it has no weft_version")
    version.restype = c_char_p
    return ImportError(
        f"{found} (weft {version().decode()}) has no {name}: it is older than the package in "
        f"{pathlib.Path(__file__).parent}; {_REMEDY}"
    )


_REMEDY = (
    f"name the folder of the {SONAME} that belongs to it in LD_LIBRARY_PATH, such as "
    "build/release/lib, or install the wheel, which has its own (docs/python.md)"
)


def load(path: str | None = None) -> ctypes.CDLL:
    """Opens the library and declares its functions. An ImportError says what is wrong with it."""
    path = path or library_path()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"weft cannot load its library: {error}; {_REMEDY}") from None
    for name, (result, parameters) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise _lacks(library, path, name) from None
        function.restype = result
        function.argtypes = parameters
    return library


lib = load()
