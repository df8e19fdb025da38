"""Attention with FlashAttention's interface, by zyfa's kernels."""

from typing import Any, Optional, Tuple

from ._arguments import dense_shape, flag, packed_shape, refuse_unsupported, sequence_starts, whole
from ._call import CODES, attend, begin, check_descales, finish, output


def flash_attn_func(
    q: Any,
    k: Any,
    v: Any,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, ...] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    return_lse: bool = False,
    *,
    hadamard: bool = False,
    out: Any = None,
) -> Any:
    """softmax(softmax_scale * q k^T) v, computed in FP8.

    q: (batch, seqlen_q, heads, head_dim), k: (batch, seqlen_k, kv_heads, head_dim), v: (batch, seqlen_k, kv_heads,
    v_head_dim), of one element type: torch.bfloat16 or torch.float16; NumPy's float32, float16, or uint16 as BF16
    bits. Elements must be finite. Query head h reads key/value head h // (heads / kv_heads). head_dim is 128 or 192,
    v_head_dim 128. Arrays may lie anyhow in memory as long as their last dimension is dense; addresses and strides of
    BF16 ones must be multiples of 16 bytes.

    k and v are rounded to e4m3 with one scale for each (batch, key/value head), q with one for each query.
    softmax_scale: 1 / sqrt(head_dim) if None. causal: query i sees the keys j <= i + seqlen_k - seqlen_q
    (bottom-right). hadamard: rotates q and k first, which leaves the logits as they are and rounds outliers better; q
    then has one scale for each (batch, key/value head). The result is deterministic whatever `deterministic` says. Of
    dropout_p, window_size, softcap, alibi_slopes and return_attn_probs only the defaults are accepted.

    Returns (batch, seqlen_q, heads, v_head_dim) of q's element type, BF16 values in any case. `out`, if given, is
    written and returned instead; it may have any of the element types above. Rows that see no key are 0. With
    return_lse also the logits' log-sum-exp, natural logarithm, fp32 (batch, heads, seqlen_q); -infinity in such rows.

    Tensors of PyTorch for ROCm: runs on the current stream, waits for nothing. CPU tensors and NumPy arrays: runs in
    the emulator."""
    refuse_unsupported(dropout_p, window_size, softcap, alibi_slopes, return_attn_probs)
    inputs = {"q": q, "k": k, "v": v}
    call, shape = begin(inputs, {"out": out}, None, dense_shape, softmax_scale, causal, hadamard)
    lse_shape = (shape.batch, shape.heads, shape.seqlen_q) if flag("return_lse", return_lse) else None
    outputs = output(call, out, (shape.batch, shape.seqlen_q, shape.heads, shape.v_head_dim), lse_shape)
    attend(call, q, k, v, None, outputs.o, outputs.lse)
    return finish(call, outputs)


def flash_attn_fp8_func(
    q: Any,
    k: Any,
    v: Any,
    q_descale: Any,
    k_descale: Any,
    v_descale: Any,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    return_lse: bool = False,
    *,
    out: Any = None,
) -> Any:
    """The same for q, k and v that are FP8 already: OCP e4m3fn codes as torch.float8_e4m3fn (where PyTorch has it) or
    uint8. A value is code * descale, finite; descales are fp32 (batch, kv_heads), also q's, and may be expanded
    (strides of 0). Addresses and strides of the codes must be multiples of 16 bytes.

    Returns BF16 values: torch.bfloat16, or NumPy's float32. `out`, if given, is written and returned instead:
    torch.bfloat16 or torch.float16; NumPy's float32, float16, or uint16 as BF16 bits. All else as in
    flash_attn_func."""
    descales = {"q_descale": q_descale, "k_descale": k_descale, "v_descale": v_descale}
    inputs = {"q": q, "k": k, "v": v}
    call, shape = begin(inputs, {**descales, "out": out}, CODES, dense_shape, softmax_scale, causal)
    check_descales(call, descales, shape.batch, shape.kv_heads)
    lse_shape = (shape.batch, shape.heads, shape.seqlen_q) if flag("return_lse", return_lse) else None
    outputs = output(call, out, (shape.batch, shape.seqlen_q, shape.heads, shape.v_head_dim), lse_shape)
    attend(call, q, k, v, (q_descale, k_descale, v_descale), outputs.o, outputs.lse)
    return finish(call, outputs)


def flash_attn_varlen_func(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, ...] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    block_table: Any = None,
    return_lse: bool = False,
    *,
    q_descale: Any = None,
    k_descale: Any = None,
    v_descale: Any = None,
    hadamard: bool = False,
    out: Any = None,
) -> Any:
    """Attention of sequences of different lengths that lie behind each other: q (total_q, heads, head_dim), k (total_k,
    kv_heads, head_dim), v (total_k, kv_heads, v_head_dim); cu_seqlens_q and cu_seqlens_k (batch + 1 integers) say where
    each begins and ends. With the three descales (batch, kv_heads) q, k and v are FP8 codes as in flash_attn_fp8_func,
    without them real values as in flash_attn_func, and each sequence has scales of its own.

    The kernels have no grid for it: each sequence is launched by itself, and the lengths are read by the host, which
    waits for them if they are on a GPU. max_seqlen_q and max_seqlen_k are checked and otherwise play no part.

    Returns (total_q, heads, v_head_dim); with return_lse also the log-sum-exp, fp32 (heads, total_q). Rows behind the
    last sequence are 0 and -infinity."""
    refuse_unsupported(dropout_p, window_size, softcap, alibi_slopes, return_attn_probs, block_table)
    descales = {"q_descale": q_descale, "k_descale": k_descale, "v_descale": v_descale}
    coded, return_lse = _are_given(descales), flag("return_lse", return_lse)
    if coded and flag("hadamard", hadamard):
        raise ValueError("hadamard = True: codes stay as they are; accepted: False, and zyfa.quantise to make them")
    inputs, dtypes = {"q": q, "k": k, "v": v}, CODES if coded else None
    call, shape = begin(inputs, {**descales, "out": out}, dtypes, packed_shape, softmax_scale, causal, hadamard)
    starts_q = sequence_starts("cu_seqlens_q", cu_seqlens_q, whole("max_seqlen_q", max_seqlen_q), shape.seqlen_q)
    starts_k = sequence_starts("cu_seqlens_k", cu_seqlens_k, whole("max_seqlen_k", max_seqlen_k), shape.seqlen_k)
    batch = len(starts_q) - 1
    if len(starts_k) - 1 != batch:
        raise ValueError(f"cu_seqlens_q is of {batch} sequences and cu_seqlens_k of {len(starts_k) - 1}")
    if coded:
        check_descales(call, descales, batch, shape.kv_heads)
    lse_shape = (shape.heads, shape.seqlen_q) if return_lse else None
    outputs = output(call, out, (shape.seqlen_q, shape.heads, shape.v_head_dim), lse_shape)
    for i in range(batch):
        queries, keys = slice(*starts_q[i : i + 2]), slice(*starts_k[i : i + 2])
        scales = tuple(descale[i : i + 1] for descale in descales.values()) if coded else None
        lse = outputs.lse[None, :, queries] if return_lse else None
        attend(call, q[None, queries], k[None, keys], v[None, keys], scales, outputs.o[None, queries], lse)
    outputs.o[starts_q[-1] :] = 0
    if return_lse:
        outputs.lse[:, starts_q[-1] :] = -float("inf")
    return finish(call, outputs)


def _are_given(descales: dict) -> bool:
    missing = [name for name, descale in descales.items() if descale is None]
    if missing and len(missing) < len(descales):
        raise TypeError(f"{' and '.join(missing)} missing; accepted: all three descales, or none")
    return not missing
