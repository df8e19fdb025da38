"""A call of one of the public functions: what its launches have in common, its output, its launches."""

from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from ._arguments import Shape, flag, softmax_scale_of
from ._arrays import View, check_apart, common_adapter, dense_view_of, dtype_of, view_of
from ._launch import Descales, Launch, attention
from ._quantise import quantise

CODES = ("e4m3fn",)


class Call(NamedTuple):
    adapter: Any  # _numpy or _torch
    launch: Launch
    dtype: str  # of q, k and v
    softmax_scale: float
    causal: bool
    hadamard: bool

    def tensor(self, name: str, array: Any) -> View:
        return dense_view_of(self.adapter, name, array)

    def values(self, array: Optional[Any]) -> Optional[View]:
        return None if array is None else view_of(self.adapter, array)


class Output(NamedTuple):
    o: Any  # BF16, written by kernels
    lse: Optional[Any]
    result: Optional[Any]  # the caller's, or None
    dtype: str  # of the result


def begin(
    inputs: Dict[str, Any],
    others: Dict[str, Any],
    dtypes: Optional[Tuple[str, ...]],
    shape_of: Callable[..., Shape],
    softmax_scale: Optional[float],
    causal: bool,
    hadamard: bool = False,
) -> Tuple[Call, Shape]:
    """`inputs` are q, k and v, whose element type is one, of `dtypes` or, if that is None, of the adapter's real ones.
    `others` may be None; where they are arrays they must be of the same kind and place. `shape_of` says whether the
    inputs' shapes belong together."""
    causal, hadamard = flag("causal", causal), flag("hadamard", hadamard)
    given = {name: array for name, array in others.items() if array is not None}
    adapter, place = common_adapter({**inputs, **given})
    held = {dtype_of(adapter, name, array, dtypes or adapter.REAL) for name, array in inputs.items()}
    if len(held) > 1:
        types = ", ".join(f"{name} {array.dtype}" for name, array in inputs.items())
        raise TypeError(f"element types differ: {types}; accepted: one type")
    shape = shape_of(**inputs)
    scale = softmax_scale_of(softmax_scale, shape.head_dim)
    launch = Launch(place, adapter.stream(place))
    return Call(adapter, launch, held.pop(), scale, causal, hadamard), shape


def output(call: Call, out: Optional[Any], shape: Tuple[int, ...], lse_shape: Optional[Tuple[int, ...]]) -> Output:
    dtype = call.adapter.OUTPUT_OF_CODES if call.dtype in CODES else call.dtype
    if out is not None:
        dtype = dtype_of(call.adapter, "out", out, call.adapter.REAL)
        if not call.adapter.is_writable(out):
            raise ValueError("out is read-only; accepted: an array that can be written")
        if tuple(out.shape) != shape:
            raise ValueError(f"out has the shape {tuple(out.shape)}; accepted: {shape}")
        check_apart("out", view_of(call.adapter, out))
    direct = out is not None and dtype == "bf16"
    o = out if direct else call.adapter.empty(shape, "bf16", call.launch.place)
    lse = None if lse_shape is None else call.adapter.empty(lse_shape, "fp32", call.launch.place)
    return Output(o, lse, out, dtype)


def finish(call: Call, output: Output) -> Any:
    """What the caller gets: the output, and the log-sum-exp if it was asked for."""
    result = output.result
    if result is None:
        result = call.adapter.converted(output.o, output.dtype)
    elif result is not output.o:
        call.adapter.copy(result, call.adapter.converted(output.o, output.dtype))
    return result if output.lse is None else (result, output.lse)


def check_descales(call: Call, descales: Dict[str, Any], batch: int, kv_heads: int) -> None:
    for name, descale in descales.items():
        if descale is None:
            raise TypeError(f"{name} is None; accepted: fp32 (batch, kv_heads)")
        dtype_of(call.adapter, name, descale, ("fp32",))
        if tuple(descale.shape) != (batch, kv_heads):
            raise ValueError(
                f"{name} has the shape {tuple(descale.shape)}; accepted: (batch, kv_heads), here {(batch, kv_heads)}"
            )


def _queries(call: Call, q: Any, kv_heads: int) -> Tuple[Any, Optional[Any]]:
    """Kernels round BF16 queries themselves: that reads them once, not three times, and gives each query a scale of its
    own. Rotated ones have to be quantised first."""
    if call.hadamard:
        return quantise(call.adapter, call.launch, "q", q, kv_heads, True)
    return call.adapter.converted(q, "bf16"), None


def attend(
    call: Call, q: Any, k: Any, v: Any, descales: Optional[Tuple[Any, Any, Any]], o: Any, lse: Optional[Any]
) -> None:
    """A batch of problems of one shape, arrays (batch, row, head, dim): codes with their descales, or real values
    without."""
    if q.shape[0] == 0 or q.shape[1] == 0:
        return
    if descales is None:
        kv_heads = k.shape[2]
        q, q_descale = _queries(call, q, kv_heads)
        k, k_descale = quantise(call.adapter, call.launch, "k", k, kv_heads, call.hadamard)
        v, v_descale = quantise(call.adapter, call.launch, "v", v, kv_heads, False)
    else:
        q_descale, k_descale, v_descale = descales
    scales = Descales(call.values(q_descale), call.values(k_descale), call.values(v_descale))
    tensors = (call.tensor("q", q), call.tensor("k", k), call.tensor("v", v))
    results = (call.tensor("out", o), call.values(lse))
    attention(call.launch, *tensors, scales, *results, call.softmax_scale, call.causal)
