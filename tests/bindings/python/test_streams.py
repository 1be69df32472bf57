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

import weft
from support import main, ranks
from weft import _streams, arrays, dlpack
from weft._library import Dtype, lib
from weft._numbers import duration

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
        "cuThreadExchangeStreamCaptureMode": "cudaThreadExchangeStreamCaptureMode",
        "cuEventCreate": "cudaEventCreateWithFlags",
        "cuEventRecord": "cudaEventRecord",
        "cuEventDestroy_v2": "cudaEventDestroy",
    }

    def __init__(self):
        self.library = ctypes.CDLL(str(FAKES / "libfake-cudart.so"))
        for name, same in self.NAMES.items():
            setattr(self, name, getattr(self.library, same))

    def cuStreamGetCaptureInfo_v2(self, stream, state, number, *none):
        return self.library.cudaStreamGetCaptureInfo(stream, state, number, *[None] * 4)

    def cuPointerGetAttribute(self, context, which, address):
        context._obj.value = 1  # it has one context, and needs none
        return 0

    def cuCtxPushCurrent_v2(self, context):
        return 0

    cuCtxPopCurrent_v2 = cuCtxPushCurrent_v2


class Driver:
    """Notes what is asked of the driver. `answers` are those of cuStreamQuery, then 0; `captures`
    are the state and the number, or the refusal, that a stream has; `context` is that of all
    memory, or of each address; `refuses` are functions."""

    READY, RELAXED = 0, 2

    def __init__(self, *answers, captures=None, context=0xC0, refuses=()):
        self.calls, self.answers, self.captures = [], list(answers), captures or {}
        self.context, self.refuses, self.mode, self.pushed = context, refuses, 0, []

    def __getattr__(self, name):
        def call(*arguments):
            values = [getattr(each, "value", each) for each in arguments]
            self.calls.append((name, *values))
            answer = getattr(self, f"do_{name}", lambda *_: 0)(*arguments)
            return 201 if name in self.refuses else answer

        if name.startswith("do_"):
            raise AttributeError(name)
        return call

    def do_cuStreamQuery(self, stream):
        assert self.mode == self.RELAXED and self.pushed
        return self.answers.pop(0) if self.answers else self.READY

    def do_cuEventRecord(self, event, stream):
        assert self.mode == self.RELAXED and self.pushed
        return 0

    def do_cuStreamGetCaptureInfo_v2(self, stream, state, number, *none):
        found = self.captures.get(stream.value, (0, 0))
        if isinstance(found, int):
            return found
        state._obj.value, number._obj.value = found
        return 0

    def do_cuPointerGetAttribute(self, place, which, address):
        context = self.context
        context = context[address.value] if isinstance(context, dict) else context
        place._obj.value = {1: context, 9: 3}[which]
        return 0

    def do_cuDeviceGet(self, device, ordinal):
        device._obj.value = ordinal + 10
        return 0

    def do_cuDevicePrimaryCtxRetain(self, context, device):
        context._obj.value = device.value + 0x100
        return 0

    def do_cuCtxPushCurrent_v2(self, context):
        self.pushed.append(context.value)
        return 0

    def do_cuCtxPopCurrent_v2(self, context):
        self.pushed.pop()
        return 0

    def do_cuThreadExchangeStreamCaptureMode(self, mode):
        mode._obj.value, self.mode = self.mode, mode._obj.value
        return 0

    def of(self, *names):
        return [call for call in self.calls if call[0] in names]

    @property
    def names(self):
        """Of what waits or makes wait."""
        return [call[0] for call in self.calls if "Event" in call[0] or call[0] == "cuStreamQuery"]


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


def ordered(stream, *owners, driver, seconds=0, look=lambda: None):
    """What a call in a stream asks of the driver, with arrays of these streams."""
    keep = [arrays.describe(Array(0x1000, each), "send", False) for each in owners]
    _streams._primary.cache_clear()
    with mock.patch.object(_streams, "driver", lambda: driver):
        try:
            _streams.order((tuple(keep), None), stream, lambda: seconds, look)
        finally:
            assert driver.mode == 0 and not driver.pushed, "the thread is not as it was"
    return driver


class Orders(unittest.TestCase):
    def test_nobody_is_asked_where_there_is_nothing_to_wait_for(self):
        self.assertEqual(ordered(None, None, driver=Driver()).calls, [])
        self.assertEqual(ordered(7, None, 7, driver=Driver()).calls, [])
        self.assertEqual(ordered(0, 1, driver=Driver()).calls, [])  # both are the legacy one
        empty = arrays.describe(Array(0, 7, count=0), "send", False)
        with mock.patch.object(_streams, "driver", None):
            _streams.order(empty, None, None, None)

    def test_a_call_without_a_stream_waits_for_each_stream_once(self):
        driver = ordered(None, 7, 9, 7, driver=Driver(600, 600, 0, 0))
        self.assertEqual([call[1] for call in driver.of("cuStreamQuery")], [7, 7, 7, 9])
        self.assertEqual({call[1] for call in driver.of("cuCtxPushCurrent_v2")}, {0xC0})

    def test_legacy_streams_of_two_devices_are_waited_for_in_the_context_of_each(self):
        keep = [
            arrays.Memory(address, COUNT, Dtype.INT32, 4, "int32", f"cuda:{n}", None, LEGACY)
            for n, address in enumerate((0x1000, 0x2000, 0x3000))
        ]
        driver = Driver(context={0x1000: 0xC0, 0x2000: 0xC1, 0x3000: 0xC2})
        with mock.patch.object(_streams, "driver", lambda: driver):
            _streams.order(keep, None, lambda: 0, lambda: None)
            self.assertEqual({call[1] for call in driver.of("cuStreamQuery")}, {LEGACY})
            self.assertEqual(len(driver.of("cuStreamQuery")), 3)
            _streams.order(keep, 7, lambda: 0, lambda: None)
        self.assertEqual(len(driver.of("cuStreamWaitEvent")), 3)
        self.assertEqual(
            {call[1] for call in driver.of("cuCtxPushCurrent_v2")}, {0xC0, 0xC1, 0xC2}
        )

    def test_the_wait_ends_after_the_seconds_of_the_call_and_names_the_stream(self):
        """… of all arrays together; not above 0 there is no limit."""
        busy = Driver(*[600] * 10**5)
        text = "^ERR_TIMEOUT: after 0.05 s stream 0x9 of an array, .* nothing was started$"
        with self.assertRaisesRegex(weft.Timeout, text):
            ordered(None, 9, driver=busy, seconds=0.05)
        for seconds in (0, -1):
            ordered(None, 9, driver=Driver(*[600] * 20), seconds=seconds)

    def test_a_failure_of_the_communicator_ends_the_wait(self):
        looks = mock.Mock(side_effect=[None, None, weft.Aborted(weft.Status.ERR_ABORTED)])
        with self.assertRaises(weft.Aborted):
            ordered(None, 9, driver=Driver(*[600] * 10), look=looks)

    def test_memory_without_a_context_is_waited_for_in_that_of_its_device(self):
        """… as that of pools, whose device is asked for its context once."""
        driver = ordered(None, 7, 9, driver=Driver(context=0))
        self.assertEqual({call[1] for call in driver.of("cuCtxPushCurrent_v2")}, {0x100 + 13})
        self.assertEqual(len(driver.of("cuDevicePrimaryCtxRetain")), 1)

    def test_memory_that_the_driver_does_not_know_is_told(self):
        for function in ("cuPointerGetAttribute", "cuDeviceGet", "cuDevicePrimaryCtxRetain"):
            driver = Driver(context=0, refuses=[function])
            with self.subTest(function), self.assertRaisesRegex(RuntimeError, "array: 201"):
                ordered(None, 7, driver=driver)
            self.assertEqual(driver.names, [])

    def test_a_stream_waits_for_an_event_of_another(self):
        driver = ordered(7, 9, driver=Driver())
        events = [call for call in driver.calls if "Event" in call[0]]
        self.assertEqual([call[0] for call in events], ["cuEventCreate", "cuEventRecord",
                                                        "cuStreamWaitEvent", "cuEventDestroy_v2"])
        self.assertEqual((events[1][2], events[2][1]), (9, 7))

    def test_a_stream_that_is_captured_has_the_order_of_its_graph(self):
        for others in ({}, {LEGACY: 906}):
            driver = Driver(captures={7: (1, 40), **others})
            self.assertEqual(ordered(7, 9, LEGACY, driver=driver).names, [])

    def test_streams_in_one_capture_wait_for_each_other(self):
        driver = ordered(7, 9, 8, driver=Driver(captures={7: (1, 40), 9: (1, 40)}))
        self.assertEqual([call[1:3] for call in driver.of("cuEventRecord")], [(None, 9)])
        self.assertEqual([call[1] for call in driver.of("cuStreamWaitEvent")], [7])

    def test_nothing_is_done_if_the_stream_of_an_array_is_captured_without_the_call(self):
        for own, captures in (
            (None, {9: (1, 40)}),
            (None, {9: (2, 0)}),
            (7, {9: (1, 40)}),
            (7, {9: (1, 40), 7: (1, 41)}),
            (7, {9: (2, 0), 7: (1, 41)}),
        ):
            driver = Driver(captures=captures)
            with self.subTest(captures), self.assertRaisesRegex(
                weft.StateError, "stream 0x9 of an array is being captured, .* the same capture"
            ):
                ordered(own, 8, 9, driver=driver)
            self.assertEqual(driver.names, [])
        for own in (None, 7):
            with self.assertRaisesRegex(weft.StateError, "stream 0x1 of an array"):
                ordered(own, LEGACY, driver=Driver(captures={LEGACY: 906}))

    def test_a_stream_that_has_failed_is_told(self):
        with self.assertRaisesRegex(RuntimeError, "the stream of an array: 700"):
            ordered(None, 7, driver=Driver(700))


class Durations(unittest.TestCase):
    def test_they_are_read_as_those_of_options_are(self):
        for text, seconds in (
            ("20", 20), ("20s", 20), ("1e3ms", 1), ("100us", 1e-4), ("5ns", 5e-9), (".5min", 30),
        ):
            self.assertEqual(duration(text), seconds)


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

    def test_an_exporter_of_dlpack_that_does_not_say_its_device_has_the_stream_of_its_tensor(self):
        for kind, stream in ((2, LEGACY), (1, None)):
            exporter = Plain(kind)
            exporter.__dlpack_device__ = None
            self.assertEqual(arrays.describe(exporter, "send", False).stream, stream)

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

    def array(self, comm):
        memory, size = ctypes.c_void_p(), COUNT * 4
        self.assertEqual(lib.weft_mem_alloc_device(comm._handle, size, ctypes.byref(memory)), 0)
        data = Array(memory.value, LEGACY)
        comm.all_reduce(data)  # the next one finds all that it needs
        return data

    def rank(self, comm, call):
        data, values = self.array(comm), (ctypes.c_int32 * COUNT)()
        memory, size = data.__cuda_array_interface__["data"][0], ctypes.sizeof(values)
        place = ctypes.c_void_p(memory)
        comm.barrier()
        found = []
        for value in (1, 2, 3):
            self.fill(memory, value)
            call(comm, data)
            self.assertEqual(lib.weft_mem_copy(comm._handle, values, place, size), 0)
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

    def test_a_stream_that_does_not_end_is_waited_for_until_the_deadline_of_the_call(self):
        """… of its own, else by the option, also in communicators of communicators."""

        def run(comm):
            data = self.array(comm)
            child = comm.dup()
            child.all_reduce(data)
            with mock.patch.object(self.runtime, "cuStreamQuery", lambda stream: 600):
                for call, text in (
                    (lambda: comm.all_reduce(data), "after 0.2 s"),
                    (lambda: child.all_reduce(data), "after 0.2 s"),
                    (lambda: comm.all_reduce(data, timeout=0.1), "after 0.1 s"),
                    (lambda: comm.start.all_reduce(data, timeout=0.1), "after 0.1 s"),
                ):
                    with self.assertRaisesRegex(weft.Timeout, text):
                        call()
            self.assertIsNone(comm.error())
            comm.all_reduce(data)
            child.destroy()

        ranks(1, run, settings={**SETTINGS, "exec.op_timeout": "200ms"})

    def test_a_stream_that_does_not_end_is_not_waited_for_when_the_communicator_has_failed(self):
        def run(comm):
            data = self.array(comm)
            asked = []

            def query(stream):
                asked.append(stream)
                if len(asked) == 5:
                    comm.abort()
                return 600

            with mock.patch.object(self.runtime, "cuStreamQuery", query):
                with self.assertRaises(weft.Aborted):
                    comm.all_reduce(data)

        ranks(1, run, settings=SETTINGS)

    def test_a_capture_is_not_spoiled_by_a_call_on_its_array(self):
        cuda, graph = self.runtime.library, ctypes.c_void_p()

        def run(comm):
            data, stream = self.array(comm), ctypes.c_void_p()
            self.assertEqual(cuda.cudaStreamCreateWithFlags(ctypes.byref(stream), NON_BLOCKING), 0)
            data.__cuda_array_interface__["stream"] = stream.value
            self.assertEqual(cuda.cudaStreamBeginCapture(stream, 0), 0)
            for options in ({}, {"stream": 0}):
                with self.assertRaisesRegex(weft.StateError, "is being captured"):
                    comm.all_reduce(data, **options)
            comm.all_reduce(data, stream=stream.value)
            self.assertEqual(cuda.cudaStreamEndCapture(stream, ctypes.byref(graph)), 0)
            self.assertEqual(cuda.cudaGraphDestroy(graph), 0)
            self.assertEqual(cuda.cudaStreamDestroy(stream), 0)

        ranks(1, run, settings=SETTINGS)


if __name__ == "__main__":
    main()
