"""What the functions accept: everything else is refused here, in words that name it."""

import collections.abc
import numbers
import operator
import sys
from typing import Any, List, NamedTuple, Optional, Tuple

# Of queries and keys, of values and output: those that zyfa_kernels generates.
HEAD_DIMS = ((128, 128), (192, 128))


class Shape(NamedTuple):
    batch: int
    seqlen_q: int
    seqlen_k: int
    heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int


def flag(name: str, given: Any) -> bool:
    """A bool, Python's or NumPy's. Truth of anything else is refused: that of "False" is True."""
    numpy = sys.modules.get("numpy")
    if isinstance(given, bool) or (numpy is not None and isinstance(given, numpy.bool_)):
        return bool(given)
    raise TypeError(f"{name} is a {type(given).__name__}; accepted: True and False")


def whole(name: str, given: Any) -> int:
    """An int, or what stands for one exactly, as NumPy's integers do."""
    try:
        return operator.index(given)
    except TypeError:
        raise TypeError(f"{name} is a {type(given).__name__}; accepted: an int") from None


def _real(name: str, given: Any, accepted: str) -> float:
    if not isinstance(given, numbers.Real):
        raise TypeError(f"{name} is a {type(given).__name__}; accepted: {accepted}")
    return float(given)


def refuse_unsupported(
    dropout_p: float = 0.0,
    window_size: Tuple[int, ...] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    return_attn_probs: bool = False,
    block_table: Any = None,
) -> None:
    """FlashAttention's arguments of which only the defaults are accepted; NotImplementedError names the first other."""
    if _real("dropout_p", dropout_p, "0.0") != 0:
        raise NotImplementedError(f"dropout_p = {dropout_p}: there is no dropout; accepted: 0.0")
    if not isinstance(window_size, (tuple, list)):
        raise TypeError(f"window_size is a {type(window_size).__name__}; accepted: (-1, -1)")
    if tuple(window_size) not in ((-1, -1), (-1, -1, 0)):
        raise NotImplementedError(
            f"window_size = {tuple(window_size)}: there are no windows; accepted: (-1, -1), and `causal`"
        )
    if _real("softcap", softcap, "0.0") != 0:
        raise NotImplementedError(f"softcap = {softcap}: logits are not capped; accepted: 0.0")
    if alibi_slopes is not None:
        raise NotImplementedError("alibi_slopes: there is no ALiBi bias; accepted: None")
    if flag("return_attn_probs", return_attn_probs):
        raise NotImplementedError(
            "return_attn_probs = True: probabilities are not kept; accepted: False, with `return_lse` the log-sum-exp"
        )
    if block_table is not None:
        raise NotImplementedError("block_table: there is no paged KV cache; accepted: None")


def softmax_scale_of(given: Optional[float], head_dim: int) -> float:
    if given is None:
        return head_dim**-0.5
    return _real("softmax_scale", given, "a number, None for 1 / sqrt(head_dim)")


def _extents(name: str, array: Any, dimensions: Tuple[str, ...]) -> Tuple[int, ...]:
    if len(array.shape) != len(dimensions):
        raise ValueError(f"{name} has the shape {tuple(array.shape)}; accepted: ({', '.join(dimensions)})")
    return tuple(array.shape)


def _check_same(what: str, k: int, v: int, key: str = "k", value: str = "v") -> None:
    if k != v:
        raise ValueError(f"{key} has {k} {what} and {value} {v}; accepted: as many")


def _check_heads(heads: int, kv_heads: int, head_dim: int, key_dim: int, v_head_dim: int) -> None:
    if heads == 0 or kv_heads == 0 or heads % kv_heads != 0:
        raise ValueError(f"q has {heads} heads and k {kv_heads}; accepted: a multiple of k's heads, at least 1 of each")
    if head_dim != key_dim or (head_dim, v_head_dim) not in HEAD_DIMS:
        accepted = " or ".join(f"{qk}, {qk} and {v}" for qk, v in HEAD_DIMS)
        raise ValueError(f"q, k and v have the head dims {head_dim}, {key_dim} and {v_head_dim}; accepted: {accepted}")


def dense_shape(q: Any, k: Any, v: Any) -> Shape:
    """Of arrays (batch, seqlen, heads, head_dim); ValueError unless they belong together."""
    batch, seqlen_q, heads, head_dim = _extents("q", q, ("batch", "seqlen_q", "heads", "head_dim"))
    k_batch, seqlen_k, kv_heads, key_dim = _extents("k", k, ("batch", "seqlen_k", "kv_heads", "head_dim"))
    v_batch, v_seqlen, v_heads, v_head_dim = _extents("v", v, ("batch", "seqlen_k", "kv_heads", "v_head_dim"))
    _check_same("batch entries", batch, k_batch, "q", "k")
    _check_same("batch entries", k_batch, v_batch)
    _check_same("rows", seqlen_k, v_seqlen)
    _check_same("heads", kv_heads, v_heads)
    _check_heads(heads, kv_heads, head_dim, key_dim, v_head_dim)
    return Shape(batch, seqlen_q, seqlen_k, heads, kv_heads, head_dim, v_head_dim)


def packed_shape(q: Any, k: Any, v: Any) -> Shape:
    """Of arrays (total rows, heads, head_dim), in which sequences lie behind each other, as if they were one."""
    total_q, heads, head_dim = _extents("q", q, ("total_q", "heads", "head_dim"))
    total_k, kv_heads, key_dim = _extents("k", k, ("total_k", "kv_heads", "head_dim"))
    v_total, v_heads, v_head_dim = _extents("v", v, ("total_k", "kv_heads", "v_head_dim"))
    _check_same("rows", total_k, v_total)
    _check_same("heads", kv_heads, v_heads)
    _check_heads(heads, kv_heads, head_dim, key_dim, v_head_dim)
    return Shape(1, total_q, total_k, heads, kv_heads, head_dim, v_head_dim)


def sequence_starts(name: str, given: Any, max_seqlen: int, rows: int) -> List[int]:
    """Of cumulative lengths (batch + 1): 0, then where each sequence ends. Waits for the GPU if they are there."""
    starts = given.tolist() if hasattr(given, "tolist") else given
    starts = list(starts) if isinstance(starts, collections.abc.Iterable) else []
    if not starts or not all(isinstance(start, int) for start in starts):
        raise TypeError(f"{name}: accepted are batch + 1 integers, in one dimension")
    lengths = [end - start for start, end in zip(starts, starts[1:])]
    if starts[0] != 0 or starts[-1] > rows or min(lengths, default=0) < 0:
        raise ValueError(f"{name} is {starts}; accepted: from 0 on, ascending, up to the number of rows, {rows}")
    if max(lengths, default=0) > max_seqlen:
        raise ValueError(f"{name} has a sequence of {max(lengths)} rows, more than its max_seqlen, {max_seqlen}")
    return starts
