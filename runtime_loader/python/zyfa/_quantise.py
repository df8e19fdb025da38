"""Queries, keys and values to e4m3fn codes, by the library's kernel for it."""

import ctypes
from typing import Any, Tuple

from . import _library
from ._arrays import dense_view_of, view_of
from ._kernels import cache
from ._launch import Launch


def quantise(
    adapter: Any, launch: Launch, name: str, x: Any, kv_heads: int, hadamard: bool
) -> Tuple[Any, Any]:
    """Codes (batch, row, head, dim) and descales (batch, kv_heads) of real values `x` (batch, row, head, dim), argument
    `name`. Without rows descales are 1."""
    bf16 = adapter.converted(x, "bf16")
    batch, rows, heads, dim = (int(extent) for extent in x.shape)
    codes = adapter.empty((batch, rows, heads, dim), "bytes", launch.place)
    descale = adapter.empty((batch, kv_heads), "fp32", launch.place)
    if rows == 0:
        descale[...] = 1
        return codes, descale
    kernel = cache.find(launch.place, kind=_library.QUANTISE, head_dim=dim, hadamard=int(hadamard))
    arguments = _library.Quantise(
        x=dense_view_of(adapter, name, bf16).tensor(),
        codes=view_of(adapter, codes).tensor(),
        descale=view_of(adapter, descale).values(),
        batch=batch,
        heads=heads,
        kv_heads=kv_heads,
        seqlen=rows,
    )
    needed = ctypes.c_size_t()
    _library.call("zyfa_quantise_workspace", kernel, ctypes.byref(arguments), ctypes.byref(needed))
    workspace = adapter.empty((needed.value,), "bytes", launch.place)
    arguments.workspace, arguments.workspace_bytes = adapter.pointer(workspace), needed.value
    _library.call("zyfa_quantise_launch", kernel, ctypes.byref(arguments), launch.stream)
    return codes, descale
