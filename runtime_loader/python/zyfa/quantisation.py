"""FP8 from BF16: what flash_attn_func does with keys and values, for callers who keep the codes."""

from typing import Any, Optional, Tuple

from ._arguments import flag, whole
from ._arrays import common_adapter, dtype_of
from ._launch import Launch
from ._quantise import quantise as _quantise


def quantise(x: Any, kv_heads: Optional[int] = None, *, hadamard: bool = False) -> Tuple[Any, Any]:
    """e4m3fn codes and descales for flash_attn_fp8_func; code * descale is x, rounded.

    x: (batch, seqlen, heads, head_dim), head_dim 128 or 192, element types, layouts and places as in flash_attn_func.
    kv_heads: heads / kv_heads neighbouring heads share a descale, as queries must that read one key/value head; each
    has its own if None. hadamard: rotates each row first (192 elements as 128 and 64), which queries and keys must both
    be, or neither.

    Returns uint8 (batch, seqlen, heads, head_dim) and fp32 (batch, kv_heads), the largest magnitude / 448."""
    adapter, place = common_adapter({"x": x})
    dtype_of(adapter, "x", x, adapter.REAL)
    if len(x.shape) != 4:
        raise ValueError(f"x has the shape {tuple(x.shape)}; accepted: (batch, seqlen, heads, head_dim)")
    scales = x.shape[2] if kv_heads is None else whole("kv_heads", kv_heads)
    if scales < 1 or x.shape[2] % scales != 0:
        raise ValueError(f"x has {x.shape[2]} heads and kv_heads is {scales}; accepted: a divisor of the heads")
    return _quantise(adapter, Launch(place, adapter.stream(place)), "x", x, scales, flag("hadamard", hadamard))
