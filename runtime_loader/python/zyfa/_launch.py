"""One launch each: from views of arrays to the library's structs. Nothing here knows NumPy or PyTorch."""

import ctypes
import re
from typing import NamedTuple, Optional

from . import _library
from ._arrays import Place, View
from ._kernels import cache


class Launch(NamedTuple):
    """Where and when: the device, and a hipStream_t or None."""

    place: Place
    stream: Optional[int]


class Descales(NamedTuple):
    """One fp32 value for each (batch, key/value head). None for queries that are BF16."""

    q: Optional[View]
    k: Optional[View]
    v: Optional[View]


def _values(view: Optional[View]) -> _library.Values:
    return _library.Values() if view is None else view.values()


def attention(
    launch: Launch,
    q: View,
    k: View,
    v: View,
    descales: Descales,
    o: View,
    lse: Optional[View],
    softmax_scale: float,
    causal: bool,
) -> None:
    """Queries, keys, values and output (batch, row, head, dim), the log-sum-exp (batch, head, row). Raises Error."""
    batch, seqlen_q, heads, head_dim = q.shape
    _, seqlen_k, kv_heads, v_head_dim = v.shape
    kernel = cache.find(
        launch.place,
        kind=_library.ATTENTION,
        head_dim=head_dim,
        v_head_dim=v_head_dim,
        causal=int(causal),
        lse=int(lse is not None),
        q_type=_library.QUERY_BF16 if q.dtype == "bf16" else _library.QUERY_FP8,
    )
    arguments = _library.Attention(
        q=q.tensor(),
        k=k.tensor(),
        v=v.tensor(),
        o=o.tensor(),
        lse=_values(lse),
        q_descale=_values(descales.q),
        k_descale=_values(descales.k),
        v_descale=_values(descales.v),
        batch=batch,
        heads=heads,
        kv_heads=kv_heads,
        seqlen_q=seqlen_q,
        seqlen_k=seqlen_k,
        softmax_scale=softmax_scale,
    )
    try:
        _library.call("zyfa_attention_launch", kernel, ctypes.byref(arguments), launch.stream)
    except _library.Error as error:  # the package's functions call `o` out
        raise _library.Error(error.status, re.sub(r"^o (?=is |has )", "out ", str(error))) from None
