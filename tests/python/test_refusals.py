"""What is not supported is refused in words that name it; nothing is computed in another way instead."""

import types
import unittest
from unittest import mock

import numpy
import torch

import support
import zyfa
from zyfa import _torch


def inputs(dims=(128, 128, 128), heads=(4, 2, 2), rows=(17, 30, 30), batches=(1, 1, 1), dtype=torch.bfloat16):
    return [
        torch.from_numpy(support.normal(i, batches[i], rows[i], heads[i], dims[i])).to(dtype) for i in range(3)
    ]


class Refusals(unittest.TestCase):
    def refused(self, kind, message, *arguments, function=zyfa.flash_attn_func, **options):
        with self.subTest(message=message):
            with self.assertRaisesRegex(kind, message):
                function(*arguments, **options)

    def test_features(self):
        for name, value, message in [
            ("dropout_p", 0.1, "dropout_p = 0.1: .*accepted: 0.0"),
            ("window_size", (128, 0), r"window_size = \(128, 0\): .*accepted: \(-1, -1\)"),
            ("window_size", (-1, 0), "`causal`"),
            ("softcap", 30.0, "softcap = 30.0: .*accepted: 0.0"),
            ("alibi_slopes", torch.ones(4), "alibi_slopes: .*accepted: None"),
            ("return_attn_probs", True, "return_attn_probs = True: .*`return_lse`"),
        ]:
            self.refused(NotImplementedError, message, *inputs(), **{name: value})
        self.refused(TypeError, "qv", *inputs(), qv=1)

    def test_defaults_are_accepted(self):
        plain = zyfa.flash_attn_func(*inputs())
        named = zyfa.flash_attn_func(
            *inputs(), dropout_p=0, window_size=(-1, -1, 0), softcap=0, alibi_slopes=None, deterministic=True
        )
        self.assertTrue(torch.equal(plain, named))

    def test_gradients(self):
        for i, name in enumerate("qkv"):
            tensors = inputs()
            tensors[i].requires_grad_()
            self.refused(NotImplementedError, f"{name} requires a gradient.*torch.no_grad", *tensors)

    def test_head_dims(self):
        for dims in ((0, 0, 0), (64, 64, 64), (192, 192, 192), (128, 192, 128), (128, 128, 192)):
            self.refused(
                ValueError,
                "q, k and v have the head dims {}, {} and {}; accepted: 128, 128 and 128 or 192".format(*dims),
                *inputs(dims),
            )

    def test_shapes(self):
        q, k, v = inputs()
        self.refused(ValueError, r"q has the shape \(17, 4, 128\); accepted: \(batch, seqlen_q", q[0], k, v)
        self.refused(ValueError, r"q has the shape \(\)", q[0, 0, 0, 0], k, v)
        self.refused(ValueError, "q has 2 batch entries and k 1", *inputs(batches=(2, 1, 1)))
        self.refused(ValueError, "k has 1 batch entries and v 2", *inputs(batches=(1, 1, 2)))
        self.refused(ValueError, "k has 30 rows and v 31", *inputs(rows=(17, 30, 31)))
        self.refused(ValueError, "k has 2 heads and v 1", *inputs(heads=(4, 2, 1)))
        self.refused(ValueError, "q has 4 heads and k 3; accepted: a multiple", *inputs(heads=(4, 3, 3)))
        self.refused(ValueError, "q has 0 heads and k 2", *inputs(heads=(0, 2, 2)))
        self.refused(ValueError, "q has 4 heads and k 0", *inputs(heads=(4, 0, 0)))

    def test_element_types(self):
        message = "q has elements of torch.float32; accepted: torch.bfloat16, torch.float16"
        self.refused(TypeError, message, *inputs(dtype=torch.float32))
        self.refused(TypeError, "q has elements of torch.float64", *inputs(dtype=torch.float64))
        doubles = [x.to(torch.float64).numpy() for x in inputs()]
        message = r"q has elements of float64; accepted: uint16 \(BF16 bits\), float16, float32"
        self.refused(TypeError, message, *doubles)
        swapped = [x.astype(">f4") for x in doubles]
        self.refused(TypeError, "q has elements of >f4", *swapped)
        q, k, v = inputs()
        self.refused(TypeError, "element types differ: q torch.bfloat16, k torch.float16", q, k.to(torch.float16), v)
        self.refused(TypeError, "uint8; .*flash_attn_fp8_func", *inputs(dtype=torch.uint8))

    def test_fnuz_by_name(self):
        fnuz = types.SimpleNamespace(dtype="torch.float8_e4m3fnuz")
        from zyfa import _arrays

        with self.assertRaisesRegex(TypeError, "q has elements of torch.float8_e4m3fnuz; .*OCP's e4m3fn, not fnuz"):
            _arrays.dtype_of(_torch, "q", fnuz, ("e4m3fn",))

    def test_kinds_and_devices(self):
        q, k, v = inputs()
        self.refused(TypeError, "q is a list; accepted: torch.Tensor and numpy.ndarray", [1.0], k, v)
        array = v.to(torch.float32).numpy()
        self.refused(TypeError, "q is a Tensor and v a ndarray; accepted: all of one kind", q, k, array)
        self.refused(ValueError, "k is on meta of PyTorch .*; accepted: a GPU with ROCm, the CPU", q, k.to("meta"), v)
        self.refused(TypeError, "v is laid out as torch.sparse_coo", q, k, v.to(torch.float32).to_sparse())

    def test_a_gpu_without_rocm(self):
        device = types.SimpleNamespace(type="cuda", index=1)
        tensor = mock.Mock(layout=torch.strided, requires_grad=False, device=device)
        with mock.patch.object(torch.version, "hip", None):
            with self.assertRaisesRegex(ValueError, "q is on .*; accepted: a GPU with ROCm"):
                _torch.place("q", tensor)

    def test_layouts(self):
        q, k, v = inputs()
        spread = torch.empty(1, 17, 4, 256, dtype=torch.bfloat16)[..., ::2]
        self.refused(ValueError, "last dimension of q has a stride of 2 elements; accepted: 1", spread, k, v)
        shifted = torch.empty(17 * 4 * 128 + 4, dtype=torch.bfloat16)[4:].view(1, 17, 4, 128)
        self.refused(zyfa.Error, "16", shifted, k, v)
        narrow = torch.empty(1, 17, 4, 132, dtype=torch.bfloat16)[..., :128]
        self.refused(zyfa.Error, "16", narrow, k, v)

    def test_softmax_scale(self):
        self.refused(TypeError, "softmax_scale is a str; accepted: a number, None", *inputs(), softmax_scale="1")
        for scale in (-1.0, float("nan"), float("inf")):
            self.refused(zyfa.Error, "softmax_scale", *inputs(), softmax_scale=scale)

    def test_out(self):
        q, k, v = inputs()
        for out, kind, message in [
            (torch.empty(1, 17, 4, 128), TypeError, "out has elements of torch.float32"),
            (torch.empty(1, 17, 4, 129, dtype=torch.bfloat16), ValueError, r"out has the shape \(1, 17, 4, 129\)"),
            (numpy.empty((1, 17, 4, 128), numpy.float32), TypeError, "q is a Tensor and out a ndarray"),
            (torch.empty(1, 17, 4, 256, dtype=torch.bfloat16)[..., ::2], ValueError, "last dimension of out"),
            (torch.empty(1, 1, 4, 128, dtype=torch.bfloat16).expand(1, 17, 4, 128), ValueError, "out is expanded"),
        ]:
            self.refused(kind, message, q, k, v, out=out)
        arrays = [x.to(torch.float32).numpy() for x in inputs()]
        read_only = numpy.empty((1, 17, 4, 128), numpy.float32)
        read_only.setflags(write=False)
        self.refused(ValueError, "out is read-only", *arrays, out=read_only)

    def test_descales(self):
        coded = [torch.from_numpy(support.codes(i, 1, 17, 2, 128)) for i in range(3)]
        good = torch.ones(1, 2)
        for name in ("q_descale", "k_descale", "v_descale"):
            for bad, kind, message in [
                (None, TypeError, f"{name} is None"),
                (torch.ones(1), ValueError, rf"{name} has the shape \(1,\); accepted: .*, here \(1, 2\)"),
                (torch.ones(2, 1), ValueError, f"{name} has the shape"),
                (good.to(torch.float64), TypeError, f"{name} has elements of torch.float64; accepted: torch.float32"),
                (1.0, TypeError, f"{name} is a float"),
            ]:
                descales = {"q_descale": good, "k_descale": good, "v_descale": good, name: bad}
                self.refused(kind, message, *coded, function=zyfa.flash_attn_fp8_func, **descales)
        message = "q has elements of torch.bfloat16; accepted: torch.uint8"
        self.refused(TypeError, message, *inputs(), good, good, good, function=zyfa.flash_attn_fp8_func)


if __name__ == "__main__":
    unittest.main()
