"""flash_attn_func and flash_attn_fp8_func against PyTorch: a softmax in double precision, and its own attention."""

import ctypes
import functools
import itertools
import unittest
from unittest import mock

import numpy
import torch

import support
import zyfa
from support import CODES, REAL
from zyfa import _call, _numpy

# (batch, heads, kv_heads, seqlen_q, seqlen_k)
SHAPES = [
    (1, 1, 1, 1, 1),
    (2, 2, 1, 17, 17),
    (1, 8, 8, 128, 128),
    (2, 8, 2, 129, 17),
    (1, 6, 1, 17, 129),
    (2, 4, 4, 129, 512),
    (1, 7, 1, 512, 129),
    (1, 3, 3, 512, 512),
    (2, 2, 2, 1, 512),
    (1, 4, 2, 128, 0),
    (1, 2, 2, 0, 128),
    (0, 2, 2, 17, 17),
]
# What PyTorch's own attention may be off by in BF16, relative; PyTorch 1.13 is by 0.0074 at most in CASES.
TORCH_BF16 = 0.01
HEAD_DIMS = [(128, 128), (192, 128)]
CASES = list(itertools.product(SHAPES, HEAD_DIMS, (False, True)))


def real_inputs(shape, dims):
    batch, heads, kv_heads, seqlen_q, seqlen_k = shape
    q = support.normal(1, batch, seqlen_q, heads, dims[0])
    k = support.normal(2, batch, seqlen_k, kv_heads, dims[0])
    return q, k, support.normal(3, batch, seqlen_k, kv_heads, dims[1])


def coded_inputs(shape, dims):
    batch, heads, kv_heads, seqlen_q, seqlen_k = shape
    q = support.codes(4, batch, seqlen_q, heads, dims[0])
    k = support.codes(5, batch, seqlen_k, kv_heads, dims[0])
    v = support.codes(6, batch, seqlen_k, kv_heads, dims[1])
    return (q, k, v), support.descales(batch, kv_heads)


class Dense(unittest.TestCase):
    def check(self, attend, expected, tolerances, dtype):
        """`attend` with and without the log-sum-exp: other kernels."""
        for return_lse in (False, True):
            with self.subTest(return_lse=return_lse):
                o, lse = attend(return_lse=True) if return_lse else (attend(), None)
                self.assertEqual(o.dtype, dtype)
                self.assertLessEqual(support.largest_error(o, expected[0]), tolerances[0])
                if return_lse:
                    self.assertLessEqual(support.largest_lse_error(lse, expected[1]), tolerances[1])

    def test_real_values(self):
        for shape, dims, causal in CASES:
            with self.subTest(shape=shape, dims=dims, causal=causal):
                inputs = real_inputs(shape, dims)
                tensors = [torch.from_numpy(x).to(torch.bfloat16) for x in inputs]
                attend = functools.partial(zyfa.flash_attn_func, *tensors, causal=causal)
                self.check(attend, support.attention(*inputs, causal), REAL, torch.bfloat16)

    def test_codes(self):
        for shape, dims, causal in CASES:
            with self.subTest(shape=shape, dims=dims, causal=causal):
                coded, descales = coded_inputs(shape, dims)
                attend = functools.partial(zyfa.flash_attn_fp8_func, *coded, *descales, causal=causal)
                expected = support.attention(*map(support.values, coded, descales), causal)
                self.check(attend, expected, CODES, numpy.float32)

    def check_against_torch(self, o, tensors, causal, tolerance):
        """In fp32, and in BF16, which itself rounds logits, weights and sums."""
        for dtype, rounding in ((torch.float32, 0), (torch.bfloat16, TORCH_BF16)):
            with self.subTest(dtype=dtype):
                own = support.torch_attention(*(x.to(dtype) for x in tensors), causal)
                self.assertLessEqual(support.largest_error(o, support.as_float64(own)), tolerance + rounding)

    def test_real_values_against_torch(self):
        for shape, dims, causal in CASES:
            with self.subTest(shape=shape, dims=dims, causal=causal):
                tensors = [torch.from_numpy(x).to(torch.bfloat16) for x in real_inputs(shape, dims)]
                o = zyfa.flash_attn_func(*tensors, causal=causal)
                self.check_against_torch(o, tensors, causal, REAL[0])

    def test_codes_against_torch(self):
        for shape, dims, causal in CASES:
            with self.subTest(shape=shape, dims=dims, causal=causal):
                coded, descales = coded_inputs(shape, dims)
                o = zyfa.flash_attn_fp8_func(*map(torch.from_numpy, (*coded, *descales)), causal=causal)
                tensors = [torch.from_numpy(x) for x in map(support.values, coded, descales)]
                self.check_against_torch(o, tensors, causal, CODES[0])

    def test_torch_with_a_wrong_mask_would_be_seen(self):
        tensors = [torch.from_numpy(x) for x in real_inputs((1, 2, 1, 129, 300), (128, 128))]
        o = zyfa.flash_attn_func(*(x.to(torch.bfloat16) for x in tensors), causal=True)
        top_left = support.torch_attention(tensors[0], *(x[:, :129] for x in tensors[1:]), True)
        for wrong in (support.torch_attention(*tensors, False), top_left):
            self.assertGreater(support.largest_error(o, support.as_float64(wrong)), REAL[0] + TORCH_BF16)

    def test_no_keys_have_finite_descales(self):
        """The kernel that quantises writes none where there are no rows."""
        inputs = [support.bf16_bits(x) for x in real_inputs((2, 4, 2, 17, 0), (128, 128))]

        def nan(shape, dtype, place):
            array = empty(shape, dtype, place)
            array.view(numpy.uint8)[...] = 0xFF
            return array

        empty, attention = _numpy.empty, _call.attention
        for hadamard in (False, True):
            passed = []

            def watched(launch, q, k, v, descales, *others):
                for view in descales:
                    if view is not None:
                        numbers = ctypes.c_float * (view.shape[0] * view.shape[1])
                        passed.append(list(numbers.from_address(view.pointer)))
                attention(launch, q, k, v, descales, *others)

            with self.subTest(hadamard=hadamard):
                with mock.patch.object(_numpy, "empty", nan), mock.patch.object(_call, "attention", watched):
                    o, lse = zyfa.flash_attn_func(*inputs, return_lse=True, hadamard=hadamard)
                self.assertEqual(passed[-2:], [[1] * 4] * 2)
                self.assertEqual(len(passed), 3 if hadamard else 2)
                self.assertTrue(numpy.isfinite(passed).all())
                self.assertFalse(o.any())
                self.assertTrue(numpy.isneginf(lse).all())

    def test_a_wrong_mask_scale_or_descale_would_be_seen(self):
        inputs = real_inputs((1, 2, 1, 129, 129), (128, 128))
        o, lse = zyfa.flash_attn_func(*inputs, causal=True, return_lse=True)
        for causal, softmax_scale in ((False, None), (True, 0.2)):
            expected = support.attention(*inputs, causal, softmax_scale)
            self.assertGreater(support.largest_error(o, expected[0]), REAL[0])
            self.assertGreater(support.largest_lse_error(lse, expected[1]), REAL[1])
        other_heads = support.attention(inputs[0][:, :, ::-1], *inputs[1:], True)
        self.assertGreater(support.largest_error(o, other_heads[0]), REAL[0])

    def test_softmax_scale(self):
        inputs = real_inputs((1, 2, 1, 129, 129), (128, 128))
        for softmax_scale in (0, 0.03, numpy.float32(0.1)):
            with self.subTest(softmax_scale=softmax_scale):
                attend = functools.partial(zyfa.flash_attn_func, *inputs, softmax_scale=softmax_scale)
                self.check(attend, support.attention(*inputs, False, float(softmax_scale)), REAL, numpy.float32)

    def test_values_of_one_give_exactly_one(self):
        q, k, v = real_inputs((1, 2, 1, 129, 300), (128, 128))
        o = zyfa.flash_attn_func(4 * q, k, numpy.ones_like(v))
        self.assertTrue((o == 1).all())

    def test_a_wrong_descale_would_be_seen(self):
        coded, descales = coded_inputs((2, 4, 2, 129, 129), (128, 128))
        o, lse = zyfa.flash_attn_fp8_func(*coded, *descales, return_lse=True)
        for i, wrong in enumerate(descales):
            swapped = [*descales[:i], wrong[:, ::-1], *descales[i + 1 :]]
            expected = support.attention(*map(support.values, coded, swapped), False)
            self.assertGreater(support.largest_error(o, expected[0]), CODES[0])
            if i < 2:
                self.assertGreater(support.largest_lse_error(lse, expected[1]), CODES[1])

    def test_expanded_descales(self):
        coded, _ = coded_inputs((2, 4, 2, 129, 129), (128, 128))
        tensors = [torch.from_numpy(x) for x in coded]
        one = torch.tensor([[0.01]])
        expanded = zyfa.flash_attn_fp8_func(*tensors, *[one.expand(2, 2)] * 3)
        dense = zyfa.flash_attn_fp8_func(*tensors, *[one.repeat(2, 2)] * 3)
        self.assertIs(expanded.dtype, torch.bfloat16)
        self.assertTrue(torch.equal(expanded, dense))

    def test_transposed_descales(self):
        coded, descales = coded_inputs((2, 3, 3, 17, 17), (128, 128))
        dense = zyfa.flash_attn_fp8_func(*coded, *descales)
        transposed = zyfa.flash_attn_fp8_func(*coded, *(x.T.copy().T for x in descales))
        self.assertTrue(numpy.array_equal(dense, transposed))


if __name__ == "__main__":
    unittest.main()
