"""PyTorch's tensors: on the CPU the emulator runs, on a GPU (PyTorch for ROCm) HIP does, on the current stream."""

from typing import Optional, Tuple

import torch

from . import _library
from ._arrays import Place

_DTYPES = {
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp32": torch.float32,
    "e4m3fn": getattr(torch, "float8_e4m3fn", torch.uint8),  # PyTorch has it from 2.1 on
    "bytes": torch.uint8,
}

REAL = ("bf16", "fp16")
OUTPUT_OF_CODES = "bf16"


def names(dtypes: Tuple[str, ...]) -> str:
    """uint8 may hold codes everywhere."""
    held = [_DTYPES[dtype] for dtype in dtypes]
    return ", ".join(dict.fromkeys(str(dtype) for dtype in held + [torch.uint8] * ("e4m3fn" in dtypes)))


def place(name: str, tensor: torch.Tensor) -> Place:
    if tensor.layout is not torch.strided:
        raise TypeError(f"{name} is laid out as {tensor.layout}; accepted: torch.strided")
    if tensor.is_neg():
        raise ValueError(f"{name} is a negated view (its is_neg() is True); accepted: {name}.resolve_neg()")
    if tensor.requires_grad and torch.is_grad_enabled():
        raise NotImplementedError(
            f"{name} requires a gradient and there is no backward; accepted: tensors that do not, or a call under "
            "torch.no_grad()"
        )
    device = tensor.device
    if device.type == "cpu":
        return Place(_library.EMULATOR, 0)
    if device.type == "cuda" and torch.version.hip:
        return Place(_library.HIP, device.index)
    raise ValueError(f"{name} is on {device} of PyTorch {torch.__version__}; accepted: a GPU with ROCm, the CPU")


def dtype(tensor: torch.Tensor) -> Optional[str]:
    if tensor.dtype is torch.uint8:
        return "e4m3fn"
    return next((name for name, dtype in _DTYPES.items() if tensor.dtype is dtype), None)


def pointer(tensor: torch.Tensor) -> int:
    return tensor.data_ptr()


def byte_strides(tensor: torch.Tensor) -> Tuple[int, ...]:
    return tuple(stride * tensor.element_size() for stride in tensor.stride())


def stream(place: Place) -> Optional[int]:
    return torch.cuda.current_stream(place.ordinal).cuda_stream if place.backend == _library.HIP else None


def is_writable(tensor: torch.Tensor) -> bool:
    return True


def empty(shape: Tuple[int, ...], dtype: str, place: Place) -> torch.Tensor:
    device = torch.device("cuda", place.ordinal) if place.backend == _library.HIP else torch.device("cpu")
    return torch.empty(shape, dtype=_DTYPES[dtype], device=device)


def converted(tensor: torch.Tensor, dtype: str) -> torch.Tensor:
    """The same values in another element type; the tensor itself if it has that already."""
    return tensor if tensor.dtype is _DTYPES[dtype] else tensor.to(_DTYPES[dtype])


def copy(target: torch.Tensor, source: torch.Tensor) -> None:
    target.copy_(source)
