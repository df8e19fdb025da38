"""Attention with the Python package: build/<preset>/python in PYTHONPATH, then python3 docs/examples/attention.py.

Runs on a GPU if PyTorch has one, otherwise in the emulator."""

import torch

import zyfa

device = "cuda" if torch.cuda.is_available() else "cpu"
batch, seqlen, heads, kv_heads, head_dim = 2, 384, 6, 2, 128
torch.manual_seed(1)


def normal(rows: int, of_heads: int) -> torch.Tensor:
    return torch.randn(batch, rows, of_heads, head_dim, dtype=torch.float32).to(device, torch.bfloat16)


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Causal attention in fp32."""
    q, k, v = (x.float().transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(heads // kv_heads, 1) for x in (k, v))
    logits = q @ k.transpose(2, 3) * head_dim**-0.5
    logits.masked_fill_(torch.ones(seqlen, seqlen, dtype=torch.bool, device=device).triu(1), -float("inf"))
    return (torch.softmax(logits, -1) @ v).transpose(1, 2)


def relative_error(o: torch.Tensor, expected: torch.Tensor) -> str:
    return f"relative error {((o.float() - expected).norm() / expected.norm()).item():.3f}"


def codes(whole: torch.Tensor) -> torch.Tensor:
    """Whole numbers from -16 to 16 as e4m3fn, which holds them exactly: sign, exponent, mantissa."""
    exponent = whole.abs().clamp(min=1).log2().floor()
    magnitude = (exponent + 7) * 8 + (whole.abs() * 2 ** (3 - exponent) - 8)
    return (magnitude * (whole != 0) + 128 * (whole < 0)).to(torch.uint8)


# BF16 in, BF16 out: keys and values become FP8 on the way, with a scale for each batch entry and head.
q, k, v = normal(seqlen, heads), normal(seqlen, kv_heads), normal(seqlen, kv_heads)
o, lse = zyfa.flash_attn_func(q, k, v, causal=True, return_lse=True)
print(f"BF16: {tuple(o.shape)} {o.dtype}, LSE {tuple(lse.shape)}, {relative_error(o, reference(q, k, v))}")

# FP8 in: codes as a model has them whose weights and caches are FP8. A value is code * descale.
whole = [(4 * x.float()).round().clamp(-16, 16) for x in (q, k, v)]
descale = torch.full((1, 1), 0.25, device=device).expand(batch, kv_heads)
o = zyfa.flash_attn_fp8_func(*map(codes, whole), descale, descale, descale, causal=True)
print(f"FP8:  {tuple(o.shape)} {o.dtype}, {relative_error(o, reference(*(0.25 * x for x in whole)))}")

# A fused projection: views of one tensor (batch, seqlen, heads + 2 * kv_heads, head_dim) go without a copy.
fused = torch.cat([q, k, v], dim=2).split([heads, kv_heads, kv_heads], dim=2)
same = torch.equal(zyfa.flash_attn_func(*fused, causal=True), zyfa.flash_attn_func(q, k, v, causal=True))
print("fused views give the same bits:", same)
