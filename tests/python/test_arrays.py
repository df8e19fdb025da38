"""Kinds of arrays, element types, layouts in memory, threads: all give the very same bits."""

import concurrent.futures
import unittest

import numpy
import torch

import support
import zyfa

BATCH, ROWS, HEADS, KV_HEADS = 2, 140, 4, 2


def inputs(dim=128):
    q = support.normal(1, BATCH, ROWS, HEADS, dim)
    k = support.normal(2, BATCH, ROWS, KV_HEADS, dim)
    return q, k, support.normal(3, BATCH, ROWS, KV_HEADS, 128)


class Arrays(unittest.TestCase):
    def setUp(self):
        self.inputs = inputs()
        self.o, self.lse = zyfa.flash_attn_func(*self.inputs, causal=True, return_lse=True)

    def attend(self, *arrays, **options):
        return zyfa.flash_attn_func(*arrays, causal=True, **options)

    def assert_same(self, o):
        self.assertTrue(numpy.array_equal(support.as_float64(o), self.o))

    def test_numpy_float32_in_and_out(self):
        self.assertEqual(self.o.dtype, numpy.float32)
        self.assertEqual(self.lse.dtype, numpy.float32)
        self.assertFalse((self.o.view(numpy.uint32) & 0xFFFF).any(), "values are BF16's")

    def test_numpy_float16(self):
        o = self.attend(*(x.astype(numpy.float16) for x in self.inputs))
        self.assertEqual(o.dtype, numpy.float16)
        self.assertTrue(numpy.array_equal(o, self.o.astype(numpy.float16)))

    def test_numpy_uint16_is_bf16(self):
        o = self.attend(*map(support.bf16_bits, self.inputs))
        self.assertEqual(o.dtype, numpy.uint16)
        self.assert_same(o)

    def test_float32_is_rounded_to_nearest_even(self):
        q = self.inputs[0]
        for lower, bits in ((0x7FFF, 0), (0x8000, None), (0x8001, 1), (0xFFFF, 1)):
            near = (q.view(numpy.uint32) | lower).view(numpy.float32)
            rounded = torch.from_numpy(near).to(torch.bfloat16).to(torch.float32).numpy()
            if bits is not None:
                self.assertTrue((support.bf16_bits(rounded) == support.bf16_bits(q) + bits).all())
            o = self.attend(near, *self.inputs[1:])
            self.assertTrue(numpy.array_equal(o, self.attend(rounded, *self.inputs[1:])))

    def test_torch(self):
        for dtype in (torch.bfloat16, torch.float16):
            o, lse = self.attend(*(torch.from_numpy(x).to(dtype) for x in self.inputs), return_lse=True)
            self.assertIs(o.dtype, dtype)
            self.assertIs(lse.dtype, torch.float32)
            self.assertTrue(torch.equal(o, torch.from_numpy(self.o).to(dtype)))
            self.assertTrue(numpy.array_equal(lse.numpy(), self.lse))

    def test_torch_that_needs_gradients_elsewhere(self):
        tensors = [torch.from_numpy(x).to(torch.bfloat16).requires_grad_() for x in self.inputs]
        with torch.no_grad():
            self.assert_same(self.attend(*tensors))
        self.assert_same(self.attend(*(x.detach() for x in tensors)))

    def test_out(self):
        for out in (numpy.empty_like(self.o), support.bf16_bits(self.o) * 0, numpy.empty(self.o.shape, numpy.float16)):
            self.assertIs(self.attend(*self.inputs, out=out), out)
            values = support.as_float64(out).astype(numpy.float32)
            self.assertTrue((numpy.abs(values - self.o) <= numpy.abs(self.o) / 2**11 + 1e-7).all())  # FP16's rounding
        tensors = [torch.from_numpy(x).to(torch.bfloat16) for x in self.inputs]
        heads_first = torch.empty(BATCH, HEADS, ROWS, 128, dtype=torch.bfloat16)
        self.attend(*tensors, out=heads_first.transpose(1, 2))
        self.assert_same(heads_first.transpose(1, 2))

    def test_heads_first(self):
        arrays = [x.transpose(0, 2, 1, 3).copy().transpose(0, 2, 1, 3) for x in map(support.bf16_bits, self.inputs)]
        self.assert_same(self.attend(*arrays))

    def test_rows_first(self):
        arrays = [x.transpose(1, 0, 2, 3).copy().transpose(1, 0, 2, 3) for x in map(support.bf16_bits, self.inputs)]
        self.assert_same(self.attend(*arrays))

    def test_views_of_fused_qkv(self):
        tensors = [torch.from_numpy(x).to(torch.bfloat16) for x in self.inputs]
        fused = torch.cat(tensors, 2)
        self.assert_same(self.attend(*fused.split([HEADS, KV_HEADS, KV_HEADS], 2)))

    def test_fused_codes(self):
        coded = [support.codes(heads, BATCH, ROWS, heads, 128) for heads in (HEADS, KV_HEADS, KV_HEADS)]
        descales = support.descales(BATCH, KV_HEADS)
        dense = zyfa.flash_attn_fp8_func(*coded, *descales)
        fused = numpy.concatenate(coded, 2)
        views = fused[:, :, :HEADS], fused[:, :, HEADS : HEADS + KV_HEADS], fused[:, :, HEADS + KV_HEADS :]
        self.assertTrue(numpy.array_equal(zyfa.flash_attn_fp8_func(*views, *descales), dense))

    def test_inputs_stay_as_they_are(self):
        before = [x.copy() for x in self.inputs]
        for x in self.inputs:
            x.setflags(write=False)
        self.assert_same(self.attend(*self.inputs))
        for x, y in zip(self.inputs, before):
            self.assertTrue(numpy.array_equal(x, y))

    def test_threads(self):
        with concurrent.futures.ThreadPoolExecutor(6) as threads:
            for o in threads.map(lambda _: self.attend(*self.inputs), range(18)):
                self.assert_same(o)


if __name__ == "__main__":
    unittest.main()
