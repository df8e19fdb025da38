"""The way to a GPU, on the library that stands in for HIP's: everything but what PyTorch for ROCm itself would do."""

import ctypes
import os
import types
import unittest
from unittest import mock

import numpy
import torch

import support
import zyfa
from zyfa import _arrays, _library, _numpy, _torch

TO_DEVICE, TO_HOST = 1, 2  # hipMemcpyKind
PLACE = _arrays.Place(_library.HIP, 0)


class Hip:
    """The functions that PyTorch would call."""

    def __init__(self, file):
        self.library = ctypes.CDLL(file)

    def __getattr__(self, name):
        def call(*arguments):
            status = getattr(self.library, name)(*arguments)
            if status != 0:
                raise RuntimeError(f"{name}: hipError_t {status}")

        return call


class DeviceArray:
    """Dense device memory with a NumPy array's contents and element type."""

    def __init__(self, hip, contents):
        self.hip, self.shape, self.dtype = hip, contents.shape, contents.dtype
        self.pointer = ctypes.c_void_p()
        hip.hipMalloc(ctypes.byref(self.pointer), ctypes.c_size_t(contents.nbytes))
        self.upload(contents)

    def upload(self, contents):
        source = ctypes.c_void_p(numpy.ascontiguousarray(contents).ctypes.data)
        self.hip.hipMemcpy(self.pointer, source, ctypes.c_size_t(contents.nbytes), TO_DEVICE)

    def __del__(self):
        self.hip.hipFree(self.pointer)

    def numpy(self):
        contents = numpy.empty(self.shape, self.dtype)
        target = ctypes.c_void_p(contents.ctypes.data)
        self.hip.hipMemcpy(target, self.pointer, ctypes.c_size_t(contents.nbytes), TO_HOST)
        return contents


class Adapter:
    """Does for DeviceArray what _torch does for tensors."""

    REAL, OUTPUT_OF_CODES = _numpy.REAL, "bf16"
    names, dtype = staticmethod(_numpy.names), staticmethod(_numpy.dtype)

    def __init__(self, hip, stream, device=PLACE):
        self.hip, self.stream_handle, self.device = hip, stream, device
        self.allocated, self.reused = [], iter(())

    def reuse(self):
        """Gives out the same memory again, in the same order, as PyTorch's pools do: without a call of HIP's."""
        self.reused = iter(self.allocated)

    def empty(self, shape, dtype, place):
        array = next(self.reused, None)
        if array is None:
            array = DeviceArray(self.hip, numpy.full(shape, 0x7F, _numpy._DTYPES[dtype]))
            self.allocated.append(array)
        return array

    def place(self, name, array):
        return self.device

    def pointer(self, array):
        return array.pointer.value

    def byte_strides(self, array):
        return numpy.empty(array.shape, array.dtype).strides

    def stream(self, place):
        return self.stream_handle.value

    def converted(self, array, dtype):
        assert self.dtype(array) == dtype, "no conversion without PyTorch"
        return array


@unittest.skipUnless(os.path.exists(os.environ.get("ZYFA_HIP_LIBRARY", "")), "there is no library in HIP's place")
class OnHip(unittest.TestCase):
    def setUp(self):
        self.hip, self.stream = Hip(os.environ["ZYFA_HIP_LIBRARY"]), ctypes.c_void_p()
        self.hip.hipStreamCreate(ctypes.byref(self.stream))
        self.addCleanup(lambda: self.hip.hipStreamDestroy(self.stream))

        adapters = mock.patch.object(_arrays, "_adapter", self.adapter_of)
        adapters.start()
        self.addCleanup(adapters.stop)
        self.adapter = Adapter(self.hip, self.stream)

    def adapter_of(self, name, array):
        return self.adapter if isinstance(array, DeviceArray) else _numpy

    def upload(self, arrays):
        return [DeviceArray(self.hip, x) for x in arrays]

    def assert_same(self, on_hip, emulated):
        self.hip.hipStreamSynchronize(self.stream)
        for x, y in zip(on_hip, emulated):
            self.assertTrue(numpy.array_equal(support.as_float64(x.numpy()), support.as_float64(y)))

    def bf16(self, seed):
        shapes = ((2, 140, 4, 192), (2, 140, 2, 192), (2, 140, 2, 128))
        return [support.bf16_bits(support.normal(seed, *shape)) for shape in shapes]

    def check(self, function, *arrays, **options):
        on_hip = function(*self.upload(arrays), return_lse=True, **options)
        self.assert_same(on_hip, function(*arrays, return_lse=True, **options))

    def test_codes(self):
        coded = [support.codes(heads, 2, 140, heads, 128) for heads in (4, 2, 2)]
        self.check(zyfa.flash_attn_fp8_func, *coded, *support.descales(2, 2), causal=True)

    def test_bf16(self):
        self.check(zyfa.flash_attn_func, *self.bf16(1), causal=True)
        self.check(zyfa.flash_attn_func, *self.bf16(1), hadamard=True)

    def test_captured_into_a_graph(self):
        tensors, other = self.upload(self.bf16(1)), self.bf16(2)
        zyfa.flash_attn_func(*tensors, causal=True, return_lse=True)
        self.hip.hipStreamSynchronize(self.stream)
        self.adapter.reuse()
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self.hip.hipStreamBeginCapture(self.stream, 0)
        results = zyfa.flash_attn_func(*tensors, causal=True, return_lse=True)
        self.hip.hipStreamEndCapture(self.stream, ctypes.byref(graph))
        self.hip.hipGraphInstantiate(ctypes.byref(executable), graph, None, None, ctypes.c_size_t(0))
        for tensor, contents in zip(tensors, other):
            tensor.upload(contents)
        self.hip.hipGraphLaunch(executable, self.stream)
        self.assert_same(results, zyfa.flash_attn_func(*other, causal=True, return_lse=True))

    def test_no_such_gpu(self):
        self.adapter.device = _arrays.Place(_library.HIP, 99)
        coded, descale = self.upload([support.codes(1, 1, 3, 1, 128), numpy.ones((1, 1), numpy.float32)])
        with self.assertRaises(zyfa.Error) as caught:
            zyfa.flash_attn_fp8_func(coded, coded, coded, descale, descale, descale)
        self.assertEqual(caught.exception.status, "ZYFA_NO_DEVICE")


class TorchForRocm(unittest.TestCase):
    """The few lines of _torch that the CPU does not reach."""

    def test_place_and_stream(self):
        device = types.SimpleNamespace(type="cuda", index=3)
        tensor = mock.Mock(layout=torch.strided, requires_grad=False, device=device, is_neg=lambda: False)
        with mock.patch.object(torch.version, "hip", "7.0"):
            place = _torch.place("q", tensor)
        self.assertEqual(place, _arrays.Place(_library.HIP, 3))
        current = mock.Mock(return_value=types.SimpleNamespace(cuda_stream=0x1234))
        with mock.patch.object(torch.cuda, "current_stream", current):
            self.assertEqual(_torch.stream(place), 0x1234)
        current.assert_called_once_with(3)
        self.assertIsNone(_torch.stream(_arrays.Place(_library.EMULATOR, 0)))

    def test_memory(self):
        with mock.patch.object(torch, "empty") as empty:
            _torch.empty((2, 3), "bf16", _arrays.Place(_library.HIP, 3))
        empty.assert_called_once_with((2, 3), dtype=torch.bfloat16, device=torch.device("cuda", 3))


if __name__ == "__main__":
    unittest.main()
