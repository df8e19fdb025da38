"""NumPy arrays: host memory, the emulator runs. NumPy has neither BF16 nor FP8: uint16 holds BF16 bits, uint8 e4m3fn
codes."""

from typing import Any, Optional, Tuple

import numpy

from . import _library
from ._arrays import Place

_DTYPES = {
    "fp32": numpy.dtype(numpy.float32),
    "fp16": numpy.dtype(numpy.float16),
    "bf16": numpy.dtype(numpy.uint16),
    "e4m3fn": numpy.dtype(numpy.uint8),
    "bytes": numpy.dtype(numpy.uint8),
}
_MEANINGS = {"bf16": "uint16 (BF16 bits)", "e4m3fn": "uint8 (e4m3fn codes)"}

REAL = ("bf16", "fp16", "fp32")  # element types of queries, keys and values that are no codes
# What an output for FP8 codes is held in: BF16 values, as NumPy can compute with them.
OUTPUT_OF_CODES = "fp32"


def names(dtypes: Tuple[str, ...]) -> str:
    return ", ".join(_MEANINGS.get(dtype, str(_DTYPES[dtype])) for dtype in dtypes)


def place(name: str, array: numpy.ndarray) -> Place:
    if isinstance(array, numpy.ma.MaskedArray):
        raise TypeError(f"{name} is a numpy.ma.MaskedArray, and masks are not applied; accepted: arrays without one")
    return Place(_library.EMULATOR, 0)


def dtype(array: numpy.ndarray) -> Optional[str]:
    return next((name for name, dtype in _DTYPES.items() if array.dtype == dtype), None)


def pointer(array: numpy.ndarray) -> int:
    return array.__array_interface__["data"][0]


def byte_strides(array: numpy.ndarray) -> Tuple[int, ...]:
    return array.strides


def stream(place: Place) -> Optional[int]:
    return None


def is_writable(array: numpy.ndarray) -> bool:
    return array.flags.writeable


def empty(shape: Tuple[int, ...], dtype: str, place: Place) -> numpy.ndarray:
    """Aligned to 16 bytes, as kernels want it."""
    bytes_needed = int(numpy.prod(shape, dtype=numpy.int64)) * _DTYPES[dtype].itemsize
    raw = numpy.empty(bytes_needed + 16, numpy.uint8)
    first = -pointer(raw) % 16
    return raw[first : first + bytes_needed].view(_DTYPES[dtype]).reshape(shape)


def _bf16_bits(array: numpy.ndarray) -> numpy.ndarray:
    """Rounded to nearest even. A NaN stays one: its upper half gets the quiet bit, lest it become infinity."""
    bits = numpy.ascontiguousarray(array, numpy.float32).view(numpy.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
    return numpy.where(numpy.isnan(array), (bits >> 16) | 0x40, rounded).astype(numpy.uint16)


def converted(array: Any, dtype: str) -> numpy.ndarray:
    """The same values in another element type, BF16 among them; the array itself if it has that already."""
    if array.dtype == _DTYPES[dtype]:
        return array
    if dtype != "bf16":
        values = (array.astype(numpy.uint32) << 16).view(numpy.float32) if array.dtype == numpy.uint16 else array
        return values.astype(_DTYPES[dtype], copy=False)
    result = empty(array.shape, "bf16", Place(_library.EMULATOR, 0))
    result[...] = _bf16_bits(array)
    return result


def copy(target: numpy.ndarray, source: numpy.ndarray) -> None:
    target[...] = source
