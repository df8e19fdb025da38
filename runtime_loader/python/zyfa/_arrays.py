"""What the package needs to know of an array of any kind: address, extents, strides, element type, where it is.

`_numpy` and `_torch` are the two adapters, modules with the same functions; each is imported, and with it NumPy or
PyTorch, when the caller passes an array of that kind."""

import sys
from typing import Any, Dict, NamedTuple, Optional, Tuple

from . import _library

ITEM_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "e4m3fn": 1}


class Place(NamedTuple):
    """Where arrays are and kernels run: a zyfa_backend, and HIP's number of the GPU."""

    backend: int
    ordinal: int


class View(NamedTuple):
    """An array in memory. Strides are in bytes, `dtype` is a key of ITEM_BYTES."""

    pointer: int
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    dtype: str

    def tensor(self) -> _library.Tensor:
        """Of an array (batch, row, head, dim). A stride of an extent of 1, or of an empty array, means nothing and may
        be anything; the library gets the bytes of a row."""
        row_bytes = self.shape[3] * ITEM_BYTES[self.dtype]
        empty = 0 in self.shape
        batch, row, head = (
            row_bytes if empty or extent == 1 else stride for stride, extent in zip(self.strides[:3], self.shape[:3])
        )
        return _library.Tensor(self.pointer, row, head, batch)

    def values(self) -> _library.Values:
        """Of an array (batch, head) or (batch, head, row)."""
        batch, head = (0 if extent == 1 else stride for stride, extent in zip(self.strides[:2], self.shape[:2]))
        return _library.Values(self.pointer, head, batch)


def _adapter(name: str, array: Any) -> Any:
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(array, torch.Tensor):
        from . import _torch

        return _torch
    if numpy is not None and isinstance(array, numpy.ndarray):
        from . import _numpy

        return _numpy
    raise TypeError(f"{name} is a {type(array).__name__}; accepted: torch.Tensor and numpy.ndarray")


def common_adapter(arrays: Dict[str, Any]) -> Tuple[Any, Place]:
    """The adapter of these arrays, by argument name, and their place. TypeError or ValueError unless they have both in
    common."""
    (first, array), *others = arrays.items()
    adapter = _adapter(first, array)
    place = adapter.place(first, array)
    for name, other in others:
        if _adapter(name, other) is not adapter:
            raise TypeError(
                f"{first} is a {type(array).__name__} and {name} a {type(other).__name__}; accepted: all of one kind"
            )
        if adapter.place(name, other) != place:
            raise ValueError(f"{name} is not on the device of {first}; accepted: all on one device")
    return adapter, place


def dtype_of(adapter: Any, name: str, array: Any, accepted: Tuple[str, ...]) -> str:
    """Its element type, one of `accepted`; TypeError if it is another."""
    dtype: Optional[str] = adapter.dtype(array)
    if dtype in accepted:
        return dtype
    note = ""
    if "fnuz" in str(array.dtype):
        note = "; gfx950 has OCP's e4m3fn, not fnuz"
    elif dtype == "e4m3fn":
        note = "; codes go with descales to flash_attn_fp8_func and flash_attn_varlen_func"
    raise TypeError(f"{name} has elements of {array.dtype}; accepted: {adapter.names(accepted)}{note}")


def view_of(adapter: Any, array: Any) -> View:
    return View(adapter.pointer(array), tuple(array.shape), adapter.byte_strides(array), adapter.dtype(array))


def check_apart(name: str, view: View) -> None:
    """ValueError if elements may share memory. By rising stride, one step in a dimension must leave behind all that the
    dimensions before it reach, as in every array that is a slice or a transposition of a dense one."""
    if 0 in view.shape:
        return
    reach = ITEM_BYTES[view.dtype]
    for stride, extent in sorted((abs(stride), extent) for stride, extent in zip(view.strides, view.shape)):
        if extent == 1:
            continue
        if stride < reach:
            raise ValueError(
                f"{name} has elements that share memory: the shape {view.shape} with strides of {view.strides} bytes; "
                "accepted: elements that lie apart"
            )
        reach += stride * (extent - 1)


def dense_view_of(adapter: Any, name: str, array: Any) -> View:
    """ValueError unless elements of its last dimension are dense."""
    view = view_of(adapter, array)
    if 0 not in view.shape and view.strides[-1] != ITEM_BYTES[view.dtype]:
        elements = view.strides[-1] / ITEM_BYTES[view.dtype]
        raise ValueError(f"the last dimension of {name} has a stride of {elements:g} elements; accepted: 1")
    return view
