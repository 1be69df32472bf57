# SPDX-License-Identifier: BSD-3-Clause
"""CuPy's and nccl4py's NCCL on devices of threads: python_nccl.sh starts it with the name of one,
and it starts its ranks.

Neither can make an array there: CuPy has a CUDA runtime linked in, which finds no driver, and
nccl4py's arrays are cuda.core's. So memory and streams are those of the runtime of threads, and
the functions that take addresses are called.
"""
import ctypes
import subprocess
import sys

RANKS = 2
COUNT = 1000
FLOATS = ctypes.c_float * COUNT
FLOAT32, SUM = 7, 0


class Cuda:
    """The runtime of threads, which is preloaded."""

    def __init__(self, device):
        self.library = ctypes.CDLL(None)
        self.call("cudaSetDevice", ctypes.c_int(device))
        stream = ctypes.c_void_p()
        self.call("cudaStreamCreateWithFlags", ctypes.byref(stream), ctypes.c_uint(1))
        self.stream = stream.value

    def call(self, name, *arguments):
        error = getattr(self.library, name)(*arguments)
        if error != 0:
            sys.exit(f"{name}: CUDA error {error}")

    def put(self, value):
        """Memory of the device, full of a number."""
        at = ctypes.c_void_p()
        host = FLOATS(*[value] * COUNT)
        self.call("cudaMalloc", ctypes.byref(at), ctypes.c_size_t(ctypes.sizeof(host)))
        self.call("cudaMemcpy", at, host, ctypes.c_size_t(ctypes.sizeof(host)), ctypes.c_int(1))
        return at.value

    def need(self, what, at, values):
        """Waits for the stream; the memory must be blocks of these numbers."""
        host = FLOATS()
        self.call("cudaStreamSynchronize", ctypes.c_void_p(self.stream))
        self.call("cudaMemcpy", host, ctypes.c_void_p(at), ctypes.c_size_t(ctypes.sizeof(host)),
                  ctypes.c_int(2))
        part = COUNT // len(values)
        if list(host) != [values[i // part] for i in range(COUNT)]:
            sys.exit(f"{what}: {host[0]} … {host[-1]}, expected {values}")


def run_cupy(unique_id, rank):
    from cupy.cuda import nccl

    cuda = Cuda(rank)
    comm = nccl.NcclCommunicator(RANKS, unique_id, rank)
    assert (comm.rank_id(), comm.size(), comm.device_id()) == (rank, RANKS, rank)
    send, recv = cuda.put(rank + 1), cuda.put(0)
    half = COUNT // RANKS
    comm.allReduce(send, recv, COUNT, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, cuda.stream)
    cuda.need("allReduce", recv, [3])
    comm.reduce(send, recv, COUNT, nccl.NCCL_FLOAT32, nccl.NCCL_MAX, 1, cuda.stream)
    cuda.need("reduce", recv, [2 if rank == 1 else 3])
    comm.broadcast(send, recv, COUNT, nccl.NCCL_FLOAT32, 1, cuda.stream)
    cuda.need("broadcast", recv, [2])
    comm.allGather(send, recv, half, nccl.NCCL_FLOAT32, cuda.stream)
    cuda.need("allGather", recv, [1, 2])
    comm.reduceScatter(send, recv, half, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, cuda.stream)
    cuda.need("reduceScatter", recv, [3, 2])
    nccl.groupStart()
    comm.send(send, COUNT, nccl.NCCL_FLOAT32, 1 - rank, cuda.stream)
    comm.recv(recv, COUNT, nccl.NCCL_FLOAT32, 1 - rank, cuda.stream)
    nccl.groupEnd()
    cuda.need("send and recv", recv, [2 - rank])
    comm.bcast(recv, COUNT, nccl.NCCL_FLOAT32, 0, cuda.stream)
    cuda.need("bcast", recv, [2])
    child = comm.commSplit(0, 1 - rank)
    assert child.rank_id() == 1 - rank
    child.destroy()
    comm.check_async_error()
    try:
        comm.allReduce(send, recv, COUNT, 99, nccl.NCCL_SUM, cuda.stream)
        sys.exit("data type 99 was taken")
    except nccl.NcclError:
        pass
    comm.destroy()
    return f"CuPy, NCCL {nccl.get_version()}"


def run_nccl4py(unique_id, rank):
    from nccl.bindings import nccl

    cuda = Cuda(rank)
    own = nccl.UniqueId.from_buffer(bytearray(unique_id))
    comm = nccl.comm_init_rank(RANKS, own.ptr, rank)
    assert (nccl.comm_user_rank(comm), nccl.comm_count(comm)) == (rank, RANKS)
    send, recv = cuda.put(rank + 1), cuda.put(0)
    nccl.all_reduce(send, recv, COUNT, FLOAT32, SUM, comm, cuda.stream)
    cuda.need("all_reduce", recv, [3])
    nccl.all_gather(send, recv, COUNT // RANKS, FLOAT32, comm, cuda.stream)
    cuda.need("all_gather", recv, [1, 2])
    nccl.allto_all(send, recv, COUNT // RANKS, FLOAT32, comm, cuda.stream)
    cuda.need("allto_all", recv, [1, 2])
    nccl.group_start()
    nccl.send(send, COUNT, FLOAT32, 1 - rank, comm, cuda.stream)
    nccl.recv(recv, COUNT, FLOAT32, 1 - rank, comm, cuda.stream)
    nccl.group_end()
    cuda.need("send and recv", recv, [2 - rank])
    assert int(nccl.comm_get_async_error(comm)) == 0
    nccl.comm_finalize(comm)
    nccl.comm_destroy(comm)
    return f"nccl4py, NCCL {nccl.get_version()}"


PROGRAMS = {"cupy": run_cupy, "nccl4py": run_nccl4py}


def make_id(program):
    """An id, made by the library itself where nccl4py has no function for bytes."""
    if program == "cupy":
        from cupy.cuda import nccl

        return bytes(byte % 256 for byte in nccl.get_unique_id())
    library = ctypes.CDLL("libnccl.so.2")
    buffer = ctypes.create_string_buffer(128)
    assert library.ncclGetUniqueId(buffer) == 0
    return buffer.raw


def rank_main(program, rank):
    # The id's maker must live until all have joined: rank 0 makes it and tells the other.
    if rank == 0:
        unique_id = make_id(program)
        print(unique_id.hex(), flush=True)
    else:
        unique_id = bytes.fromhex(sys.stdin.readline())
    print("right: " + PROGRAMS[program](unique_id, rank), flush=True)


def main(program):
    command = [sys.executable, __file__, program]
    first = subprocess.Popen(command + ["0"], stdout=subprocess.PIPE, text=True)
    line = first.stdout.readline()
    second = subprocess.Popen(command + ["1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True)
    said, _ = second.communicate(line)
    rest = first.stdout.read()
    codes = first.wait(), second.returncode
    if codes != (0, 0) or not said.startswith("right: ") or not rest.startswith("right: "):
        sys.exit(f"{program}: exit codes {codes}; {rest}{said}")
    print(rest, end="")


if len(sys.argv) == 3:
    rank_main(sys.argv[1], int(sys.argv[2]))
else:
    main(sys.argv[1])
