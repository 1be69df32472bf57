# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of devices whose owners have put work into streams: calls come behind it. Over the CUDA
runtime of threads, whose copies from pageable memory come late for streams that do not wait."""

import ctypes
import os
import pathlib
import sys
import types
import unittest
from unittest import mock

from support import main, ranks
from weft import _streams, arrays, dlpack
from weft._library import Dtype, lib

os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")  # as docs/gpu.md says

COUNT = 1000
NON_BLOCKING = 1
TO_DEVICE = 1
LEGACY = 1
FAKES = pathlib.Path(os.environ["LD_LIBRARY_PATH"].split(":")[0], "weft-test")
PLUGIN = FAKES / "kernel-cuda-fake.so"
SETTINGS = {
    "core.kernel": "kernel-cuda",
    "kernel-cuda.path": str(PLUGIN),
    "core.net": "net-shm",
    "exec.op_timeout": "20s",
}


class Runtime:
    """The calls of the driver that are made, by those of the runtime of threads."""

    NAMES = {
        "cuStreamQuery": "cudaStreamQuery",
        "cuStreamWaitEvent": "cudaStreamWaitEvent",
        "cuStreamIsCapturing": "cudaStreamIsCapturing",
        "cuEventCreate": "cudaEventCreateWithFlags",
        "cuEventRecord": "cudaEventRecord",
        "cuEventDestroy_v2": "cudaEventDestroy",
    }

    def __init__(self):
        self.library = ctypes.CDLL(str(FAKES / "libfake-cudart.so"))
        for name, same in self.NAMES.items():
            setattr(self, name, getattr(self.library, same))

    def cuPointerGetAttribute(self, context, which, address):
        return 0  # it has one context, and needs none


class Driver:
    """Notes what is asked of the driver. `answers` are those of cuStreamQuery."""

    def __init__(self, *answers, captured=False):
        self.calls, self.answers, self.captured = [], list(answers), captured

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append((name, *(getattr(each, "value", None) for each in arguments)))
            if name == "cuStreamIsCapturing":
                arguments[1]._obj.value = self.captured
            if name == "cuPointerGetAttribute":
                arguments[0]._obj.value = 0xC0
            return self.answers.pop(0) if name == "cuStreamQuery" else 0

        return call

    @property
    def names(self):
        return [call[0] for call in self.calls if call[0] != "cuStreamIsCapturing"]


class Array:
    """An array of a device, as CuPy's and Numba's."""

    def __init__(self, address, stream, count=COUNT, version=3):
        self.__cuda_array_interface__ = {
            "shape": (count,),
            "typestr": "<i4",
            "data": (address, False),
            "version": version,
        }
        if stream != "none":
            self.__cuda_array_interface__["stream"] = stream


def ordered(stream, *owners, driver):
    """What a call in a stream asks of the driver, with arrays of these streams."""
    keep = [arrays.describe(Array(0x1000, each), "send", False) for each in owners]
    with mock.patch.object(_streams, "driver", lambda: driver):
        _streams.order((tuple(keep), None), stream)
    return driver


class Orders(unittest.TestCase):
    def test_nobody_is_asked_where_there_is_nothing_to_wait_for(self):
        self.assertEqual(ordered(None, None, driver=Driver()).calls, [])
        self.assertEqual(ordered(7, None, 7, driver=Driver()).calls, [])
        self.assertEqual(ordered(0, 1, driver=Driver()).calls, [])  # both are the legacy one
        empty = arrays.describe(Array(0, 7, count=0), "send", False)
        with mock.patch.object(_streams, "driver", None):
            _streams.order(empty, None)

    def test_a_call_without_a_stream_waits_for_each_stream_once(self):
        driver = ordered(None, 7, 9, 7, driver=Driver(600, 600, 0, 0))
        asked = [call[1] for call in driver.calls if call[0] == "cuStreamQuery"]
        self.assertEqual(asked, [7, 7, 7, 9])
        self.assertEqual(driver.names.count("cuCtxPushCurrent_v2"), 2)
        self.assertEqual(driver.names.count("cuCtxPopCurrent_v2"), 2)

    def test_a_stream_waits_for_an_event_of_another(self):
        driver = ordered(7, 9, driver=Driver())
        events = [call for call in driver.calls if "Event" in call[0]]
        self.assertEqual([call[0] for call in events], ["cuEventCreate", "cuEventRecord",
                                                        "cuStreamWaitEvent", "cuEventDestroy_v2"])
        self.assertEqual((events[1][2], events[2][1]), (9, 7))

    def test_a_stream_that_is_captured_has_the_order_of_its_graph(self):
        self.assertEqual(ordered(7, 9, driver=Driver(captured=True)).names, [])

    def test_a_stream_that_has_failed_is_told(self):
        with self.assertRaisesRegex(RuntimeError, "the stream of an array: 700"):
            ordered(None, 7, driver=Driver(700))


class Descriptions(unittest.TestCase):
    def test_the_stream_of_an_interface_is_kept(self):
        for said, kept in ((None, None), (1, 1), (0x7000, 0x7000)):
            self.assertEqual(arrays.describe(Array(8, said), "send", False).stream, kept)
        with self.assertRaisesRegex(TypeError, "^send: .* says stream = 'x', expected None, or"):
            arrays.describe(Array(8, "x"), "send", False)

    def test_an_interface_that_says_nothing_of_streams_may_mean_the_legacy_one(self):
        """… as those of before version 3, which had no such key."""
        for array in (Array(8, "none"), Array(8, "none", version=2), Array(8, None, version=2)):
            self.assertEqual(arrays.describe(array, "send", False).stream, LEGACY)

    def test_torch_tells_its_current_stream(self):
        class Tensor:
            device, dtype, requires_grad = types.SimpleNamespace(type="cuda", index=1), "t", False
            is_contiguous = lambda self: True
            is_conj = is_neg = lambda self: False
            element_size = lambda self: 4
            data_ptr = lambda self: 0x1000
            numel = lambda self: 6

        cuda = types.SimpleNamespace(
            current_stream=lambda device: types.SimpleNamespace(cuda_stream=70 + device.index)
        )
        torch = types.SimpleNamespace(Tensor=Tensor, cuda=cuda)
        with mock.patch.dict(sys.modules, torch=torch), mock.patch.dict(arrays._torch_dtypes, t=1):
            found = arrays.describe(Tensor(), "send", False)
        self.assertEqual((found.device, found.stream), ("cuda:1", 71))

    def test_an_exporter_of_dlpack_puts_the_legacy_stream_behind_its_work(self):
        """… if it has memory of a device; numpy takes no stream."""
        for kind, stream in ((2, LEGACY), (13, LEGACY), (1, None), (3, None)):
            exporter = Exporter(kind)
            self.assertEqual(arrays.describe(exporter, "send", False).stream, stream)
            self.assertEqual(exporter.given.get("stream"), stream)

    def test_an_exporter_of_dlpack_that_takes_no_stream_has_the_default_one(self):
        """… which is the legacy one on a device."""
        for kind, stream in ((2, LEGACY), (1, None)):
            self.assertEqual(arrays.describe(Plain(kind), "send", False).stream, stream)

    def test_what_an_exporter_raises_of_its_device_names_the_argument(self):
        for found in (RuntimeError("lost"), None, ()):
            exporter = Exporter(2)
            exporter.__dlpack_device__ = mock.Mock(side_effect=[found])
            with self.assertRaisesRegex(TypeError, r"^send: its __dlpack_device__\(\) gives no"):
                arrays.describe(exporter, "send", False)


class Exporter:
    """An array with DLPack 0 on a device of a kind."""

    def __init__(self, kind):
        self.kind = kind
        self.shape = (ctypes.c_int64 * 1)(COUNT)
        self.tensor = dlpack._Tensor(
            data=0x1000, device_type=kind, ndim=1, code=0, bits=32, lanes=1, shape=self.shape
        )

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, **given):
        self.given = given
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)


class Plain(Exporter):
    """One whose __dlpack__() has no options."""

    def __dlpack__(self):
        return super().__dlpack__()


@unittest.skipUnless(PLUGIN.exists(), "no CUDA headers, see tests/cuda")
class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runtime = Runtime()
        patch = mock.patch.object(_streams, "driver", lambda: cls.runtime)
        patch.start()
        cls.addClassCleanup(patch.stop)

    def fill(self, address, value):
        """As an application does: the bytes are on their way when it returns."""
        values = (ctypes.c_int32 * COUNT)(*[value] * COUNT)
        cuda = self.runtime.library
        size = ctypes.sizeof(values)
        self.assertEqual(cuda.cudaMemcpy(ctypes.c_void_p(address), values, size, TO_DEVICE), 0)

    def rank(self, comm, call):
        memory, values = ctypes.c_void_p(), (ctypes.c_int32 * COUNT)()
        size = ctypes.sizeof(values)
        self.assertEqual(lib.weft_mem_alloc_device(comm._handle, size, ctypes.byref(memory)), 0)
        data = Array(memory.value, LEGACY)
        comm.all_reduce(data)  # the next one finds all that it needs
        comm.barrier()
        found = []
        for value in (1, 2, 3):
            self.fill(memory.value, value)
            call(comm, data)
            self.assertEqual(lib.weft_mem_copy(comm._handle, values, memory, size), 0)
            found.append(set(values))
            comm.barrier()
        return found

    def each(self, call):
        found = ranks(2, lambda comm: self.rank(comm, call), settings=SETTINGS)
        self.assertEqual(found, [[{2}, {4}, {6}]] * 2)

    def test_a_call_waits_for_the_stream_of_an_array(self):
        self.each(lambda comm, data: comm.all_reduce(data))

    def test_a_call_that_is_started_does(self):
        self.each(lambda comm, data: comm.start.all_reduce(data).wait())

    def test_a_call_in_a_stream_comes_behind_the_stream_of_an_array(self):
        cuda = self.runtime.library

        def call(comm, data):
            stream = ctypes.c_void_p()
            self.assertEqual(cuda.cudaStreamCreateWithFlags(ctypes.byref(stream), NON_BLOCKING), 0)
            comm.all_reduce(data, stream=stream.value)
            self.assertEqual(cuda.cudaStreamSynchronize(stream), 0)
            self.assertEqual(cuda.cudaStreamDestroy(stream), 0)

        self.each(call)


if __name__ == "__main__":
    main()
