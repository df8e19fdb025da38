"""zyfa.quantise against rounding in NumPy, and what rotating queries and keys is for."""

import unittest

import numpy
import torch

import support
import zyfa

BATCH, ROWS, HEADS, KV_HEADS = 2, 140, 4, 2


def hadamard(dim):
    """Orthonormal, by Sylvester's construction; 192 elements are rotated as 128 and 64."""
    if dim == 192:
        matrix = numpy.zeros((192, 192))
        matrix[:128, :128], matrix[128:, 128:] = hadamard(128), hadamard(64)
        return matrix
    matrix = numpy.ones((1, 1))
    while len(matrix) < dim:
        matrix = numpy.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / numpy.sqrt(dim)


def with_outliers(seed, *shape):
    """Normal values, with a channel that is 40 times as large in all rows."""
    values = support.normal(seed, *shape)
    values[..., 5] *= 32
    return values


class Quantise(unittest.TestCase):
    def expected(self, x, kv_heads):
        largest = numpy.abs(x).reshape(BATCH, ROWS, kv_heads, -1).max(axis=(1, 3))
        descale = (largest / numpy.float32(448)).astype(numpy.float32)
        of_head = numpy.repeat(descale, x.shape[2] // kv_heads, axis=1)[:, None, :, None]
        return support.encoded((x / of_head).astype(numpy.float32)), descale

    def test_codes(self):
        for dim in (128, 192):
            for kv_heads in (None, KV_HEADS, 1):
                with self.subTest(dim=dim, kv_heads=kv_heads):
                    x = support.normal(1, BATCH, ROWS, HEADS, dim) * numpy.float32(3)
                    x = torch.from_numpy(x).to(torch.bfloat16).to(torch.float32).numpy()
                    codes, descale = zyfa.quantise(x, kv_heads)
                    expected, expected_descale = self.expected(x, kv_heads or HEADS)
                    self.assertEqual((codes.dtype, descale.dtype), (numpy.uint8, numpy.float32))
                    numpy.testing.assert_allclose(descale, expected_descale, rtol=1e-6)
                    # Which of two codes it is where a quotient lies in their middle hangs on fp32's rounding of it.
                    distance = numpy.abs(support.values(codes, descale) - x)
                    least = numpy.abs(support.values(expected, descale) - x)
                    self.assertTrue((distance <= least + 1e-6 * numpy.abs(x)).all())
                    self.assertLess((codes != expected).mean(), 0.01)

    def test_rotated(self):
        for dim in (128, 192):
            x = with_outliers(2, BATCH, ROWS, HEADS, dim)
            codes, descale = zyfa.quantise(x, hadamard=True)
            rotated = x.astype(numpy.float64) @ hadamard(dim)
            error = numpy.linalg.norm(support.values(codes, descale) - rotated) / numpy.linalg.norm(rotated)
            self.assertLess(error, 0.03)  # e4m3 rounds by 0.026 on average
            plain = support.values(*zyfa.quantise(x))
            self.assertGreater(numpy.linalg.norm(plain - rotated) / numpy.linalg.norm(rotated), 0.5)

    def test_torch_and_layouts(self):
        x = support.normal(3, BATCH, ROWS, HEADS, 128)
        codes, descale = zyfa.quantise(x, KV_HEADS)
        heads_first = torch.from_numpy(x).to(torch.bfloat16).transpose(1, 2).contiguous().transpose(1, 2)
        torch_codes, torch_descale = zyfa.quantise(heads_first, KV_HEADS)
        self.assertTrue(numpy.array_equal(torch_codes.numpy(), codes))
        self.assertTrue(numpy.array_equal(torch_descale.numpy(), descale))

    def test_codes_go_into_attention(self):
        q, k = with_outliers(4, BATCH, ROWS, HEADS, 128), with_outliers(5, BATCH, ROWS, KV_HEADS, 128)
        v = support.normal(6, BATCH, ROWS, KV_HEADS, 128)
        parts = [zyfa.quantise(x, KV_HEADS, hadamard=rotated) for x, rotated in ((q, True), (k, True), (v, False))]
        codes, descales = zip(*parts)
        by_hand = zyfa.flash_attn_fp8_func(*codes, *descales, causal=True)
        self.assertTrue(numpy.array_equal(by_hand, zyfa.flash_attn_func(q, k, v, causal=True, hadamard=True)))

    def test_rotation_helps_against_outliers(self):
        q, k = with_outliers(4, BATCH, ROWS, HEADS, 128), with_outliers(5, BATCH, ROWS, KV_HEADS, 128)
        v, scale = support.normal(6, BATCH, ROWS, KV_HEADS, 128), 0.005
        expected = support.attention(q, k, v, False, scale)[0]
        errors = [
            support.largest_error(zyfa.flash_attn_func(q, k, v, softmax_scale=scale, hadamard=rotated), expected)
            for rotated in (False, True)
        ]
        self.assertLess(errors[1], support.REAL[0])
        self.assertLess(errors[1], errors[0])

    def test_no_rows(self):
        codes, descale = zyfa.quantise(numpy.empty((2, 0, 4, 128), numpy.float32), 2)
        self.assertEqual(codes.shape, (2, 0, 4, 128))
        self.assertTrue(numpy.array_equal(descale, numpy.ones((2, 2), numpy.float32)))

    def test_refused(self):
        x = support.normal(1, 1, 3, 4, 128)
        for kind, message, arguments in [
            (ValueError, "x has 4 heads and kv_heads is 3; accepted: a divisor of the heads", (x, 3)),
            (ValueError, "x has 4 heads and kv_heads is 0", (x, 0)),
            (ValueError, r"x has the shape \(3, 4, 128\); accepted: \(batch", (x[0],)),
            (TypeError, "x has elements of uint8", (x.astype(numpy.uint8),)),
            (zyfa.Error, "head dim 64", (x[..., :64],)),
        ]:
            with self.subTest(message=message):
                with self.assertRaisesRegex(kind, message):
                    zyfa.quantise(*arguments)


if __name__ == "__main__":
    unittest.main()
