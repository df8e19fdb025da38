"""flash_attn_varlen_func against a call for each sequence."""

import unittest

import numpy
import torch

import support
import zyfa

LENGTHS_Q = [5, 0, 130, 1, 64]
LENGTHS_K = [5, 17, 129, 0, 300]
HEADS, KV_HEADS = 4, 2
DESCALES = ("q_descale", "k_descale", "v_descale")


def starts(lengths):
    return numpy.cumsum([0, *lengths]).astype(numpy.int32)


class Varlen(unittest.TestCase):
    def setUp(self):
        self.cu = starts(LENGTHS_Q), starts(LENGTHS_K)
        self.longest = max(LENGTHS_Q), max(LENGTHS_K)
        self.sequences = list(zip(*(map(slice, x, x[1:]) for x in self.cu)))

    def inputs(self, make, dim=128):
        rows = sum(LENGTHS_Q), sum(LENGTHS_K)
        return make(1, rows[0], HEADS, dim), make(2, rows[1], KV_HEADS, dim), make(3, rows[1], KV_HEADS, 128)

    def test_real_values(self):
        for dim in (128, 192):
            for causal in (False, True):
                q, k, v = (torch.from_numpy(x).to(torch.bfloat16) for x in self.inputs(support.normal, dim))
                cu = [torch.from_numpy(x) for x in self.cu]
                o, lse = zyfa.flash_attn_varlen_func(q, k, v, *cu, *self.longest, causal=causal, return_lse=True)
                self.assertEqual(lse.shape, (HEADS, sum(LENGTHS_Q)))
                for of_q, of_k in self.sequences:
                    one = zyfa.flash_attn_func(
                        q[None, of_q], k[None, of_k], v[None, of_k], causal=causal, return_lse=True
                    )
                    self.assertTrue(torch.equal(o[of_q], one[0][0]))
                    self.assertTrue(torch.equal(lse[:, of_q], one[1][0]))

    def test_codes(self):
        q, k, v = self.inputs(support.codes)
        descales = support.descales(len(LENGTHS_Q), KV_HEADS)
        named = dict(zip(DESCALES, descales))
        o = zyfa.flash_attn_varlen_func(q, k, v, *self.cu, *self.longest, causal=True, **named)
        self.assertEqual(o.dtype, numpy.float32)
        for i, (of_q, of_k) in enumerate(self.sequences):
            one = zyfa.flash_attn_fp8_func(
                q[None, of_q], k[None, of_k], v[None, of_k], *(x[i : i + 1] for x in descales), causal=True
            )
            self.assertTrue(numpy.array_equal(o[of_q], one[0]))

    def test_rows_behind_the_last_sequence(self):
        q, k, v = self.inputs(support.normal)
        cu_q, cu_k = self.cu[0][:-1], self.cu[1][:-1]
        o, lse = zyfa.flash_attn_varlen_func(q, k, v, cu_q, cu_k, *self.longest, return_lse=True)
        self.assertTrue(o[: cu_q[-1] - 1].any(axis=(1, 2)).all())
        self.assertFalse(o[cu_q[-1] :].any())
        self.assertTrue(numpy.isneginf(lse[:, cu_q[-1] :]).all())

    def test_out(self):
        q, k, v = self.inputs(support.normal)
        out = numpy.empty((sum(LENGTHS_Q), HEADS, 128), numpy.uint16)
        self.assertIs(zyfa.flash_attn_varlen_func(q, k, v, *self.cu, *self.longest, out=out), out)
        o = zyfa.flash_attn_varlen_func(q, k, v, *self.cu, *self.longest)
        self.assertTrue(numpy.array_equal(support.as_float64(out), o))

    def test_refused(self):
        q, k, v = self.inputs(support.normal)
        cu_q, cu_k = self.cu
        all_descales = dict(zip(DESCALES, support.descales(len(LENGTHS_Q), KV_HEADS)))
        one_descale = {"q_descale": all_descales["q_descale"]}
        for message, arguments, options in [
            ("max_seqlen, 129", (cu_q, cu_k, 129, 300), {}),
            ("cu_seqlens_k has a sequence of 300 rows", (cu_q, cu_k, 130, 299), {}),
            ("cu_seqlens_q is .*; accepted: from 0 on", (cu_q + 1, cu_k, *self.longest), {}),
            ("ascending", (cu_q, cu_k[::-1], *self.longest), {}),
            ("number of rows, 451", (cu_q, cu_k * 2, 260, 600), {}),
            ("of 5 sequences and cu_seqlens_k of 4", (cu_q, cu_k[:-1], *self.longest), {}),
            ("batch \\+ 1 integers", (cu_q.astype(float), cu_k, *self.longest), {}),
            ("batch \\+ 1 integers", (cu_q[None], cu_k, *self.longest), {}),
            ("batch \\+ 1 integers", (cu_q[:0], cu_k, *self.longest), {}),
            ("block_table", (cu_q, cu_k, *self.longest), {"block_table": cu_q}),
            ("k_descale and v_descale missing", (cu_q, cu_k, *self.longest), one_descale),
            ("hadamard = True: codes stay", (cu_q, cu_k, *self.longest), {**all_descales, "hadamard": True}),
            ("q has the shape \\(1, 200, 4, 128\\)", (cu_q, cu_k, *self.longest), {"q": q[None]}),
        ]:
            with self.subTest(message=message):
                with self.assertRaisesRegex((ValueError, TypeError, NotImplementedError), message):
                    zyfa.flash_attn_varlen_func(options.pop("q", q), k, v, *arguments, **options)


if __name__ == "__main__":
    unittest.main()
