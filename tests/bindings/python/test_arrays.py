# SPDX-License-Identifier: BSD-3-Clause
"""weft.arrays: what is understood, without copies, and what is refused, with the reason."""

import array
import ctypes
import mmap
import types
import unittest

from support import main, needs_numpy, numpy
from weft import Dtype, alloc
from weft.arrays import describe


class Exporter:
    """An array of another package: only DLPack."""

    def __init__(self, values, versioned=True):
        self.values = values
        self.versioned = versioned

    def __dlpack__(self, **arguments):
        if arguments and not self.versioned:
            raise TypeError("no arguments")
        return self.values.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


class Cuda:
    """An array of a device."""

    device = 1

    def __init__(self, read_only=False):
        self.read_only = read_only

    @property
    def __cuda_array_interface__(self):
        data = (0x7F0000000000, self.read_only)
        return {"shape": (2, 3), "typestr": "<f4", "data": data, "version": 3}


class Interface:
    """An array of another package: only __array_interface__."""

    def __init__(self, **interface):
        self.interface = {"shape": (2,), "typestr": "<i4", "version": 3, **interface}

    @property
    def __array_interface__(self):
        return self.interface


class Interfaces(unittest.TestCase):
    def test_data_may_be_a_buffer(self):
        values = array.array("i", [1, 2, 3])
        found = describe(Interface(data=values, offset=4), "send", True)
        self.assertEqual((found.address, found.count), (values.buffer_info()[0] + 4, 2))
        with self.assertRaises(BufferError):
            values.append(4)  # it is kept
        with self.assertRaisesRegex(ValueError, "^recv: the array is read-only$"):
            describe(Interface(data=bytes(8)), "recv", True)
        for given in ({"data": bytes(7)}, {"data": bytes(8), "offset": 1}):
            with self.assertRaisesRegex(ValueError, "^send: 2 elements, but its data has . bytes"):
                describe(Interface(**given), "send", False)

    def test_what_an_interface_lacks_is_named(self):
        with self.assertRaisesRegex(TypeError, "^send: the __array_interface__ of .* has no data"):
            describe(Interface(), "send", False)
        values = Interface(data=(4096, False))
        del values.interface["shape"]
        with self.assertRaisesRegex(TypeError, "^send: the interface of Interface lacks 'shape'"):
            describe(values, "send", False)

    def test_what_an_interface_cannot_say_is_refused(self):
        """The address would be written to, so nothing is taken for something else."""
        wrong = [
            ({"data": (0x1000,)}, TypeError, "data = .* the address, and whether"),
            ({"data": (0x1000, False, 1)}, TypeError, "data = "),
            ({"data": ("text", False)}, TypeError, "data = "),
            ({"data": (b"bytes", False)}, TypeError, "data = "),
            ({"data": (None, False)}, TypeError, "data = "),
            ({"data": (1.5, False)}, TypeError, "data = "),
            ({"data": (-4096, False)}, ValueError, "data = "),
            ({"data": (1 << 64, False)}, ValueError, "data = "),
            ({"shape": 2}, TypeError, "shape = 2, expected a tuple of lengths"),
            ({"shape": None}, TypeError, "shape = "),
            ({"shape": (2.0,)}, TypeError, "shape = "),
            ({"shape": ("2",)}, TypeError, "shape = "),
            ({"shape": (-2,)}, ValueError, "shape = .* at least 0"),
            ({"shape": (-2, -2)}, ValueError, "shape = .* at least 0"),
            ({"shape": (1 << 40, 1 << 40)}, ValueError, "shape = .* no memory is so large"),
            ({"typestr": ""}, TypeError, "typestr = '', expected .* such as '<f4'"),
            ({"typestr": "f4"}, TypeError, "typestr = "),
            ({"typestr": "<f"}, TypeError, "elements of type <f "),
            ({"typestr": "<fx"}, TypeError, "typestr = "),
            ({"typestr": "<V-1"}, TypeError, "typestr = "),
            ({"typestr": b"<f4"}, TypeError, "typestr = "),
            ({"typestr": None}, TypeError, "typestr = "),
            ({"strides": 4}, TypeError, "strides = 4, expected None, or"),
            ({"strides": ("4",)}, TypeError, "strides = "),
            ({"strides": ()}, ValueError, "strides = "),
            ({"strides": (8, 4)}, ValueError, "strides = "),
            ({"strides": (-4,)}, ValueError, "not contiguous"),
            ({"strides": (0,)}, ValueError, "not contiguous"),
            ({"mask": object()}, TypeError, "mask = "),
        ]
        for name in ("__array_interface__", "__cuda_array_interface__"):
            for given, kind, words in wrong:
                held = types.SimpleNamespace()
                good = {"shape": (2,), "typestr": "<f4", "data": (0x1000, False), "version": 3}
                setattr(held, name, {**good, **given})
                with self.subTest(name=name, **given):
                    with self.assertRaisesRegex(kind, f"^send: .*{words}"):
                        describe(held, "send", False)
            for said in ("text", None, ("shape", (2,))):
                held = types.SimpleNamespace()
                setattr(held, name, said)
                with self.assertRaisesRegex(TypeError, f"^send: the {name} of .* expected a dict"):
                    describe(held, "send", False)
            held = types.SimpleNamespace()
            setattr(held, name, {**good, "data": (0x1000, True)})
            with self.assertRaisesRegex(ValueError, "^recv: the array is read-only$"):
                describe(held, "recv", True)
        with self.assertRaisesRegex(TypeError, "^send: .* offset = '4', expected a number of"):
            describe(Interface(data=bytes(16), offset="4"), "send", False)
        with self.assertRaisesRegex(TypeError, "^send: the interface of .* lacks 'data'"):
            held.__cuda_array_interface__ = {"shape": (2,), "typestr": "<f4", "version": 3}
            describe(held, "send", False)

    def test_numbers_need_not_be_those_of_python(self):
        """Lengths of numpy, lists in place of tuples; strides of an empty array mean nothing."""

        class Number:
            def __index__(self):
                return 2

        given = {"shape": [Number(), Number()], "strides": [8, 4], "data": (Number(), 0)}
        found = describe(Interface(**given), "recv", True)
        self.assertEqual((found.address, found.count, found.dtype), (2, 4, Dtype.INT32))
        self.assertIs(type(found.count), int)
        empty = Interface(shape=(3, 0), strides=(-8, 16), data=(0, False))
        self.assertEqual(describe(empty, "recv", True).count, 0)

    def test_an_object_may_have_one_of_its_own(self):
        """As numpy understands it: objects of classes without an interface."""
        values, held = (ctypes.c_float * 2)(), types.SimpleNamespace()
        held.__array_interface__ = {
            "shape": (2,),
            "typestr": "<f4",
            "data": (ctypes.addressof(values), False),
            "version": 3,
        }
        found = describe(held, "send", True)
        self.assertEqual((found.address, found.dtype), (ctypes.addressof(values), Dtype.FP32))


class Buffers(unittest.TestCase):
    def test_every_type_of_the_module_array_is_understood(self):
        codes = {"b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "Q": 8, "f": 4, "d": 8}
        for code, size in codes.items():
            values = array.array(code, [1, 2, 3])
            found = describe(values, "send", True)
            self.assertEqual(found.address, values.buffer_info()[0])
            self.assertEqual((found.count, found.itemsize, found.device), (3, size, "cpu"))
            kind = "f" if code in "fd" else "u" if code.isupper() else "i"
            names = {"i": "INT", "u": "UINT", "f": "FP"}
            self.assertEqual(found.dtype.name, names[kind] + str(8 * size))

    def test_bytes_can_be_sent_but_not_written(self):
        found = describe(b"abc", "send", False)
        self.assertEqual((found.count, found.dtype), (3, Dtype.UINT8))
        self.assertEqual(ctypes.string_at(found.address, 3), b"abc")
        with self.assertRaisesRegex(ValueError, "^recv: the array is read-only$"):
            describe(b"abc", "recv", True)

    def test_memory_of_the_system_and_of_ctypes_is_understood(self):
        with mmap.mmap(-1, 4096) as memory:
            self.assertEqual(describe(memory, "send", True).count, 4096)
        values = (ctypes.c_double * 5)()
        found = describe(values, "send", True)
        self.assertEqual((found.address, found.count), (ctypes.addressof(values), 5))
        self.assertEqual(found.dtype, Dtype.FP64)

    def test_a_bytearray_cannot_be_resized_while_it_is_in_use(self):
        values = bytearray(8)
        found = describe(values, "send", True)
        with self.assertRaises(BufferError):
            values.append(1)
        del found
        values.append(1)

    def test_what_is_no_array_is_named(self):
        for value in (1, "text", None, [1, 2], object(), Interface):
            with self.assertRaisesRegex(TypeError, f"^recv: {type(value).__name__} is no array"):
                describe(value, "recv", True)

    def test_memory_that_has_gone_is_named(self):
        view = memoryview(bytearray(8))
        view.release()
        with self.assertRaisesRegex(ValueError, "^send: .*released memoryview"):
            describe(view, "send", False)

    def test_a_view_with_gaps_is_refused(self):
        with self.assertRaisesRegex(ValueError, "^send: the memory is not contiguous"):
            describe(memoryview(bytearray(8))[::2], "send", False)

    def test_a_device_is_named(self):
        found = describe(Cuda(), "send", True)
        self.assertEqual((found.device, found.count, found.dtype), ("cuda:1", 6, Dtype.FP32))
        with self.assertRaisesRegex(ValueError, "^recv: the array is read-only$"):
            describe(Cuda(read_only=True), "recv", True)


class Names(unittest.TestCase):
    def test_types_are_known_by_their_names(self):
        class float32:
            pass

        for name in (Dtype.FP32, 9, "float32", "f4", "torch.float32", float32):
            self.assertIs(alloc(1, name).dtype, Dtype.FP32)
        self.assertIs(alloc(1, "bfloat16").dtype, Dtype.BF16)
        if numpy is not None:
            for dtype in (numpy.float32, numpy.dtype("f4")):
                self.assertIs(alloc(1, dtype).dtype, Dtype.FP32)


@needs_numpy
class Numpy(unittest.TestCase):
    def test_types_of_numpy_are_those_of_weft(self):
        names = {"int": "INT", "uint": "UINT", "float": "FP"}
        for kind, mine in names.items():
            for bits in (8, 16, 32, 64):
                if kind == "float" and bits == 8:
                    continue
                values = numpy.zeros((2, 3), f"{kind}{bits}")
                found = describe(values, "send", True)
                self.assertEqual(found.dtype.name, f"{mine}{bits}")
                self.assertEqual((found.address, found.count), (values.ctypes.data, 6))

    def test_other_types_can_be_moved_only(self):
        for kind in ("bool", "complex64", "S5", "datetime64[s]", "i4,f8"):
            found = describe(numpy.zeros(3, kind), "send", True)
            self.assertEqual((found.dtype, found.count), (None, 3), kind)

    def test_scalars_are_kept_and_only_read(self):
        values = numpy.arange(4.0)
        for scalar in (values.sum(), values[2], numpy.int8(7), numpy.str_("abc"), numpy.True_):
            found = describe(scalar, "send", False)
            # What is freed by mistake is given to these.
            others = [numpy.zeros((), scalar.dtype) for _ in range(64)]
            self.assertEqual(ctypes.string_at(found.address, found.itemsize), scalar.tobytes())
            self.assertEqual((found.count, len(others)), (1, 64))
            with self.assertRaisesRegex(ValueError, "^recv: the array is read-only"):
                describe(scalar, "recv", True)

    def test_masked_arrays_are_refused(self):
        values = numpy.arange(4.0)
        for mask in (numpy.ma.nomask, [False, True, False, False]):
            masked = numpy.ma.masked_array(values, mask)
            with self.assertRaisesRegex(
                TypeError, r"^send: MaskedArray has a mask, .* give its \.data or \.filled\(\)"
            ):
                describe(masked, "send", False)
        self.assertEqual(describe(masked.data, "send", False).address, values.ctypes.data)

    def test_texts_have_the_bytes_of_their_characters(self):
        values = numpy.array(["abc", "d"])
        found = describe(values, "send", True)
        self.assertEqual((found.count, found.itemsize), (2, values.itemsize))

    def test_what_is_no_plain_memory_is_refused(self):
        refused = [numpy.array([object()]), numpy.zeros(2, [("a", object), ("b", "i4")])]
        if hasattr(getattr(numpy, "dtypes", None), "StringDType"):
            refused.append(numpy.array(["abc"], numpy.dtypes.StringDType()))
        for values in refused:
            with self.assertRaisesRegex(TypeError, "^send: elements of type .* Python objects"):
                describe(values, "send", False)

    def test_the_other_byte_order_is_refused(self):
        with self.assertRaisesRegex(TypeError, "^send: .* byte order .*>f4"):
            describe(numpy.zeros(3, ">f4"), "send", False)

    def test_gaps_and_other_orders_are_refused(self):
        square = numpy.zeros((4, 4))
        for values in (square[:, 1], square.T, square[::2]):
            with self.assertRaisesRegex(ValueError, "^send: the array is not contiguous"):
                describe(values, "send", False)
        self.assertEqual(describe(square[1], "send", True).count, 4)
        self.assertEqual(describe(square[:, :1][:1], "send", True).count, 1)

    def test_a_read_only_array_is_refused_as_receiver(self):
        values = numpy.zeros(3)
        values.flags.writeable = False
        describe(values, "send", False)
        with self.assertRaisesRegex(ValueError, "^recv: the array is read-only$"):
            describe(values, "recv", True)

    def test_dlpack_is_understood_in_both_versions(self):
        if not hasattr(numpy.ndarray, "__dlpack__"):
            self.skipTest("numpy has no DLPack")
        values = numpy.arange(6, dtype=numpy.int32).reshape(2, 3)
        for versioned in (True, False):
            found = describe(Exporter(values, versioned), "send", False)
            self.assertEqual((found.address, found.count), (values.ctypes.data, 6))
            self.assertEqual((found.dtype, found.itemsize), (Dtype.INT32, 4))
        with self.assertRaisesRegex(ValueError, "^send: the array is not contiguous"):
            describe(Exporter(values.T), "send", False)


if __name__ == "__main__":
    main()
