"""Queries, keys and values to e4m3fn codes."""

from typing import Any, Tuple

from ._launch import Launch


def _encode(values: Any) -> Any:
    import numpy

    magnitude = numpy.minimum(numpy.abs(values), numpy.float32(448))
    exponent = numpy.maximum(numpy.frexp(magnitude)[1] - 1, -6)
    mantissa = numpy.rint(numpy.ldexp(magnitude, 3 - exponent)).astype(numpy.int64)
    return (((exponent + 6) * 8 + mantissa) | (numpy.signbit(values) * 0x80)).astype(numpy.uint8)


def quantise(adapter: Any, launch: Launch, x: Any, kv_heads: int, hadamard: bool) -> Tuple[Any, Any]:
    """Codes and descales (batch, kv_heads) of an array (batch, row, head, dim)."""
    import numpy

    if hadamard:
        raise NotImplementedError("hadamard")
    batch, rows, heads, dim = x.shape
    real = numpy.asarray(adapter.converted(adapter.converted(x, "bf16"), "fp32"))
    grouped = real.reshape(batch, rows, kv_heads, heads // kv_heads * dim)
    amax = numpy.abs(grouped).max(axis=(1, 3), initial=0)
    descale = numpy.where(amax == 0, 1, numpy.maximum(amax / 448, numpy.finfo(numpy.float32).tiny))
    descale = descale.astype(numpy.float32)
    coded = _encode(grouped / descale[:, None, :, None]).reshape(x.shape)
    codes = adapter.empty(tuple(x.shape), "bytes", launch.place)
    scales = adapter.empty((batch, kv_heads), "fp32", launch.place)
    numpy.asarray(codes)[...] = coded
    numpy.asarray(scales)[...] = descale
    return codes, scales
