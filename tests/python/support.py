"""Inputs and references of the package's tests. FP8 is encoded and decoded here, apart from what is tested."""

import functools
from typing import Optional, Tuple

import numpy
import torch

# What is accepted: relative error of a head's output (Frobenius norm), error of its log-sum-exp. Codes: lean P is off
# by 0.03 on average over rows (docs/numerics.md), a single row by up to twice that. Real values: rounding to e4m3 adds
# 0.026 each for V, and for Q and K at logits of deviation 1, as squares do: 0.055 in all, and up to twice that in a
# single row; the log-sum-exp is off by about as much as the largest logits, 0.25 as in zyfa-run.
CODES = (0.06, 1e-4)
REAL = (0.1, 0.25)


def encoded(values: numpy.ndarray) -> numpy.ndarray:
    """e4m3fn codes, nearest even, saturating at 448."""
    magnitude = numpy.minimum(numpy.abs(values), numpy.float32(448))
    exponent = numpy.maximum(numpy.frexp(magnitude)[1] - 1, -6)
    mantissa = numpy.rint(numpy.ldexp(magnitude, 3 - exponent)).astype(numpy.int64)
    return (((exponent + 6) * 8 + mantissa) | (numpy.signbit(values) * 0x80)).astype(numpy.uint8)


@functools.lru_cache(maxsize=None)
def _decoding() -> numpy.ndarray:
    code = numpy.arange(256)
    exponent, mantissa = (code >> 3) & 15, code & 7
    magnitude = numpy.where(exponent == 0, mantissa / 8 * 2.0**-6, (1 + mantissa / 8) * 2.0 ** (exponent - 7))
    magnitude[(code & 127) == 127] = numpy.nan
    return numpy.where(code & 128, -magnitude, magnitude)


def decoded(codes: numpy.ndarray) -> numpy.ndarray:
    return _decoding()[codes]


def normal(seed: int, *shape: int) -> numpy.ndarray:
    """fp32 that BF16 and FP16 hold exactly, so that every element type starts from the same numbers."""
    values = numpy.random.default_rng(seed).standard_normal(shape).astype(numpy.float32)
    return (values.view(numpy.uint32) & numpy.uint32(0xFFFF0000)).view(numpy.float32)


def bf16_bits(array: numpy.ndarray) -> numpy.ndarray:
    """Of fp32 that BF16 holds exactly."""
    return (array.view(numpy.uint32) >> 16).astype(numpy.uint16)


def codes(seed: int, *shape: int) -> numpy.ndarray:
    """Of normal values times 100."""
    return encoded(normal(seed, *shape) * 100)


def descales(batch: int, kv_heads: int) -> Tuple[numpy.ndarray, ...]:
    """For q, k and v. Each head's own differ from the next by a factor of 1.5, but those of q and k make up for each
    other, so that logits of `codes` have the deviation 1 with the usual scale of softmax."""
    steps = numpy.float32(1.5) ** (numpy.arange(batch * kv_heads) % 7 - 3).reshape(batch, kv_heads)
    k = (steps / 100).astype(numpy.float32)
    return numpy.float32(1e-4) / k, k, k[:, ::-1].copy()


def values(coded: numpy.ndarray, descale: numpy.ndarray) -> numpy.ndarray:
    """What codes (batch, row, head, dim) stand for, in fp64."""
    of_head = numpy.repeat(descale.astype(numpy.float64), coded.shape[2] // descale.shape[1], axis=1)
    return decoded(coded) * of_head[:, None, :, None]


def attention(
    q: numpy.ndarray, k: numpy.ndarray, v: numpy.ndarray, causal: bool, softmax_scale: Optional[float] = None
) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """(batch, row, head, dim) to the output, and the log-sum-exp (batch, head, row), in fp64 by PyTorch."""
    queries, keys, values = (torch.from_numpy(numpy.asarray(x, numpy.float64)).transpose(1, 2) for x in (q, k, v))
    group = queries.shape[1] // keys.shape[1]
    keys, values = keys.repeat_interleave(group, 1), values.repeat_interleave(group, 1)
    scale = queries.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    logits = scale * queries @ keys.transpose(2, 3)
    if causal:
        rows, columns = logits.shape[2:]
        hidden = torch.ones(rows, columns, dtype=torch.bool).triu(1 + columns - rows)
        logits = logits.masked_fill(hidden, -float("inf"))
    weights = torch.softmax(logits, -1).nan_to_num(0)  # a row without keys is 0 / 0
    return (weights @ values).transpose(1, 2).numpy(), torch.logsumexp(logits, -1).numpy()


def torch_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """PyTorch's own attention, in the tensors' element type: (batch, row, head, dim) to the output."""
    group = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(group, 2), v.repeat_interleave(group, 2)
    queries, keys, values = (x.transpose(1, 2) for x in (q, k, v))
    seen = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).tril(k.shape[1] - q.shape[1]) if causal else None
    if hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        o = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, seen)
    else:  # before PyTorch 2.0
        o = torch.nn.functional._scaled_dot_product_attention(queries, keys, values, seen)[0]
    if causal:
        o = o.masked_fill(~seen.any(1, keepdim=True), 0)  # a row without keys is 0 / 0
    return o.transpose(1, 2)


def as_float64(array) -> numpy.ndarray:
    if isinstance(array, torch.Tensor):
        return array.to(torch.float64).numpy()
    if array.dtype == numpy.uint16:
        return (array.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    return array.astype(numpy.float64)


def largest_error(o, expected: numpy.ndarray) -> float:
    """The largest relative error of a head (Frobenius norm), infinite where a row should be 0 and is not."""
    computed = as_float64(o)
    assert computed.shape == expected.shape, (computed.shape, expected.shape)
    if expected.size == 0:
        return 0.0
    empty = ~expected.any(axis=3)
    if computed[empty].any() or not numpy.isfinite(computed).all():
        return float("inf")
    norm = numpy.sqrt((expected**2).sum(axis=(1, 3)))
    error = numpy.sqrt(((computed - expected) ** 2).sum(axis=(1, 3)))
    return float((error / numpy.where(norm == 0, 1, norm)).max())


def largest_lse_error(lse, expected: numpy.ndarray) -> float:
    """Infinite unless -infinity stands in the same places."""
    computed = as_float64(lse)
    assert computed.shape == expected.shape, (computed.shape, expected.shape)
    empty = numpy.isneginf(expected)
    if not numpy.array_equal(empty, numpy.isneginf(computed)):
        return float("inf")
    return float(numpy.abs(numpy.where(empty, 0, computed - numpy.where(empty, 0, expected))).max(initial=0))
