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

    def test_flags(self):
        for name in ("causal", "hadamard", "return_lse", "return_attn_probs"):
            for bad in ("False", 1, None, torch.tensor(True), numpy.array([True])):
                self.refused(TypeError, f"^{name} is a .*; accepted: True and False", *inputs(), **{name: bad})
        for name in ("hadamard", "return_lse"):
            options = {"function": zyfa.flash_attn_varlen_func, name: "False"}
            self.refused(TypeError, f"^{name} is a str", *self.packed(), **options)
        x = inputs()[0]
        self.refused(TypeError, "^hadamard is a str", x, function=zyfa.quantise, hadamard="False")
        for causal in (False, True):
            plain = zyfa.flash_attn_func(*inputs(), causal=causal)
            self.assertTrue(torch.equal(zyfa.flash_attn_func(*inputs(), causal=numpy.bool_(causal)), plain))

    def packed(self, **changes):
        q, k, v = (x[0] for x in inputs())
        others = {"cu_seqlens_q": [0, 17], "cu_seqlens_k": [0, 30], "max_seqlen_q": 17, "max_seqlen_k": 30, **changes}
        return (q, k, v, *others.values())

    def test_numbers_of_another_type(self):
        for name, bad, message in [
            ("window_size", -1, r"window_size is a int; accepted: \(-1, -1\)"),
            ("window_size", None, "window_size is a NoneType"),
            ("dropout_p", None, "dropout_p is a NoneType; accepted: 0.0"),
            ("softcap", numpy.zeros(2), "softcap is a ndarray; accepted: 0.0"),
        ]:
            self.refused(TypeError, message, *inputs(), **{name: bad})
        for name in ("max_seqlen_q", "max_seqlen_k"):
            for bad in (None, 100.0, "100"):
                message = f"{name} is a {type(bad).__name__}; accepted: an int"
                self.refused(TypeError, message, *self.packed(**{name: bad}), function=zyfa.flash_attn_varlen_func)
        for name in ("cu_seqlens_q", "cu_seqlens_k"):
            for bad in (None, 17, torch.tensor(17), [0, 17.0], "01"):
                message = f"{name}: accepted are batch"
                self.refused(TypeError, message, *self.packed(**{name: bad}), function=zyfa.flash_attn_varlen_func)
        x = inputs()[0]
        for bad in (1.0, "1", [1]):
            message = f"kv_heads is a {type(bad).__name__}; accepted: an int"
            self.refused(TypeError, message, x, bad, function=zyfa.quantise)
        self.refused(TypeError, "path is a int; accepted: str", 5, function=zyfa.set_kernel_folder)
        plain = zyfa.flash_attn_varlen_func(*self.packed())
        longest = {"max_seqlen_q": numpy.int32(17), "max_seqlen_k": torch.tensor(30)}
        self.assertTrue(torch.equal(zyfa.flash_attn_varlen_func(*self.packed(**longest)), plain))

    def test_masked_arrays(self):
        for i, name in enumerate("qkv"):
            arrays = [x.to(torch.float32).numpy() for x in inputs()]
            arrays[i] = numpy.ma.masked_array(arrays[i], arrays[i] > 1)
            self.refused(TypeError, f"{name} is a numpy.ma.MaskedArray.*; accepted: arrays without", *arrays)
        self.refused(TypeError, "x is a numpy.ma.MaskedArray", arrays[2], function=zyfa.quantise)
        arrays = [x.to(torch.float32).numpy() for x in inputs()]
        out = numpy.ma.masked_array(numpy.empty((1, 17, 4, 128), numpy.float32))
        self.refused(TypeError, "out is a numpy.ma.MaskedArray", *arrays, out=out)

    def test_negated_views(self):
        for i, name in enumerate("qkv"):
            for dtype in (torch.bfloat16, torch.float16):
                tensors = inputs(dtype=dtype)
                tensors[i] = torch._neg_view(tensors[i])
                message = rf"{name} is a negated view .*; accepted: {name}.resolve_neg\(\)"
                self.refused(ValueError, message, *tensors)
        q, k, v = inputs()
        out = torch._neg_view(torch.empty(1, 17, 4, 128, dtype=torch.bfloat16))
        self.refused(ValueError, "out is a negated view", q, k, v, out=out)
        negated = zyfa.flash_attn_func(q, k, torch._neg_view(v).resolve_neg())
        self.assertTrue(torch.equal(negated, -zyfa.flash_attn_func(q, k, v)))

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
        tensor = mock.Mock(layout=torch.strided, requires_grad=False, device=device, is_neg=lambda: False)
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
            (torch.empty(1, 1, 4, 128, dtype=torch.bfloat16).expand(1, 17, 4, 128), ValueError, "share memory"),
            (torch.empty(9000, dtype=torch.bfloat16).as_strided((1, 17, 4, 128), (0, 512, 64, 1)), ValueError, "share"),
        ]:
            self.refused(kind, message, q, k, v, out=out)
        arrays = [x.to(torch.float32).numpy() for x in inputs()]
        read_only = numpy.empty((1, 17, 4, 128), numpy.float32)
        read_only.setflags(write=False)
        self.refused(ValueError, "out is read-only", *arrays, out=read_only)
        for dtype in (numpy.uint16, numpy.float32):
            for row, head, dim in ((0, 128, 1), (512, 0, 1), (512, 64, 1), (256, 128, 1), (-256, 128, 1), (0, 0, 0)):
                memory = numpy.zeros(17 * 512, dtype)[16 * 256 if row < 0 else 0 :]
                strides = [stride * memory.itemsize for stride in (0, row, head, dim)]
                out = numpy.lib.stride_tricks.as_strided(memory, (1, 17, 4, 128), strides)
                self.refused(ValueError, "out has elements that share memory.*; accepted: .* apart", *arrays, out=out)

    def test_out_that_lies_apart(self):
        arrays = [x.to(torch.float32).numpy() for x in inputs()]
        expected = zyfa.flash_attn_func(*arrays)
        dense = numpy.zeros((1, 17, 4, 128), numpy.float32)
        for out in (
            dense[:, ::-1, ::-1],
            numpy.zeros((4, 17, 1, 128), numpy.float32).transpose(2, 1, 0, 3),
            numpy.zeros((1, 17, 6, 130), numpy.float32)[:, :, 1:5, :128],
            numpy.lib.stride_tricks.as_strided(dense, dense.shape, (0, *dense.strides[1:])),
        ):
            self.assertTrue(numpy.array_equal(zyfa.flash_attn_func(*arrays, out=out), expected))

    def test_the_library_about_out(self):
        q, k, v = inputs()
        shifted = torch.empty(17 * 4 * 128 + 4, dtype=torch.bfloat16)[4:].view(1, 17, 4, 128)
        self.refused(zyfa.Error, "^out is at .* 16 bytes", q, k, v, out=shifted)
        narrow = torch.empty(1, 17, 4, 132, dtype=torch.bfloat16)[..., :128]
        self.refused(zyfa.Error, "^out has a stride of 264 bytes", q, k, v, out=narrow)
        try:
            zyfa.flash_attn_func(q, k, v, out=narrow)
        except zyfa.Error as error:
            self.assertEqual(error.status, "ZYFA_INVALID_ARGUMENT")

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
