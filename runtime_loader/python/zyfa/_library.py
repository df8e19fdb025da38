"""libzyfa through ctypes: the structs and functions of runtime_loader/library/zyfa.h, its errors as exceptions."""

import ctypes
import functools
import os
from typing import Any, List

ABI_VERSION = 1

HIP, EMULATOR = 1, 2  # zyfa_backend
ATTENTION, QUANTISE = 1, 2  # zyfa_kernel_kind
QUERY_FP8, QUERY_BF16 = 1, 2  # zyfa_query_type

_Enum = ctypes.c_int


class Error(RuntimeError):
    """What libzyfa reports, or that it cannot be loaded. `status` is the name of a zyfa_status, for example
    "ZYFA_NO_KERNEL"."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


class DeviceInfo(ctypes.Structure):
    _fields_ = [
        ("backend", _Enum),
        ("ordinal", ctypes.c_int32),
        ("name", ctypes.c_char * 128),
        ("arch", ctypes.c_char * 64),
        ("compute_units", ctypes.c_int32),
        ("dies", ctypes.c_int32),
        ("lds_bytes", ctypes.c_int64),
        ("runtime", ctypes.c_char * 128),
    ]


class KernelTraits(ctypes.Structure):
    _fields_ = [
        ("kind", _Enum),
        ("head_dim", ctypes.c_int32),
        ("v_head_dim", ctypes.c_int32),
        ("causal", ctypes.c_int32),
        ("lse", ctypes.c_int32),
        ("q_type", _Enum),
        ("softmax", _Enum),
        ("folded", ctypes.c_int32),
        ("hadamard", ctypes.c_int32),
    ]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("row_stride", ctypes.c_int64),
        ("head_stride", ctypes.c_int64),
        ("batch_stride", ctypes.c_int64),
    ]


class Values(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("head_stride", ctypes.c_int64),
        ("batch_stride", ctypes.c_int64),
    ]


class Attention(ctypes.Structure):
    _fields_ = [
        ("q", Tensor),
        ("k", Tensor),
        ("v", Tensor),
        ("o", Tensor),
        ("lse", Values),
        ("q_descale", Values),
        ("k_descale", Values),
        ("v_descale", Values),
        ("batch", ctypes.c_int32),
        ("heads", ctypes.c_int32),
        ("kv_heads", ctypes.c_int32),
        ("seqlen_q", ctypes.c_int64),
        ("seqlen_k", ctypes.c_int64),
        ("softmax_scale", ctypes.c_float),
    ]


class Quantise(ctypes.Structure):
    _fields_ = [
        ("x", Tensor),
        ("codes", Tensor),
        ("descale", Values),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_size_t),
        ("batch", ctypes.c_int32),
        ("heads", ctypes.c_int32),
        ("kv_heads", ctypes.c_int32),
        ("seqlen", ctypes.c_int64),
        ("k_descale", Values),
        ("softmax_scale", ctypes.c_float),
    ]


# The struct of zyfa.h that each class here stands for.
STRUCTS = {
    "zyfa_device_info": DeviceInfo,
    "zyfa_kernel_traits": KernelTraits,
    "zyfa_tensor": Tensor,
    "zyfa_values": Values,
    "zyfa_attention": Attention,
    "zyfa_quantise": Quantise,
}

_Handle = ctypes.c_void_p
_Out = ctypes.POINTER

# Arguments of the functions that return a zyfa_status.
_FUNCTIONS = {
    "zyfa_device_open": [ctypes.c_int, _Enum, ctypes.c_int, _Out(_Handle)],
    "zyfa_device_get_info": [_Handle, _Out(DeviceInfo)],
    "zyfa_kernel_find": [_Handle, ctypes.c_char_p, _Out(KernelTraits), _Out(_Handle)],
    "zyfa_attention_launch": [_Handle, _Out(Attention), ctypes.c_void_p],
    "zyfa_quantise_workspace": [_Handle, _Out(Quantise), _Out(ctypes.c_size_t)],
    "zyfa_quantise_launch": [_Handle, _Out(Quantise), ctypes.c_void_p],
}


def _names() -> List[str]:
    """What to load: ZYFA_LIBRARY if it is set; else the library beside the package, else the loader's."""
    if named := os.environ.get("ZYFA_LIBRARY"):
        return [named]
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libzyfa.so")
    return [beside, "libzyfa.so"] if os.path.exists(beside) else ["libzyfa.so"]


def _open(names: List[str]) -> ctypes.CDLL:
    failures = []
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            failures.append(str(error))
    raise Error(
        "ZYFA_FILE_NOT_FOUND",
        f"libzyfa cannot be loaded ({'; '.join(failures)}); ZYFA_LIBRARY names the file to load",
    )


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """libzyfa, its functions with their types."""
    loaded = _open(_names())
    try:
        for name in ("zyfa_status_name", "zyfa_last_error", "zyfa_version"):
            getattr(loaded, name).restype = ctypes.c_char_p
        for name, arguments in _FUNCTIONS.items():
            getattr(loaded, name).argtypes = arguments
        version = loaded.zyfa_abi_version()
    except AttributeError as error:
        raise Error("ZYFA_ABI_MISMATCH", f"{loaded._name} is no libzyfa of this package's version: {error}") from None
    if version != ABI_VERSION:
        raise Error(
            "ZYFA_ABI_MISMATCH",
            f"{loaded._name} has version {version} of libzyfa's interface; this package takes {ABI_VERSION}",
        )
    return loaded


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a zyfa_status; raises Error with the library's own words if it fails."""
    loaded = library()
    status = getattr(loaded, name)(*arguments)
    if status != 0:
        raise Error(loaded.zyfa_status_name(status).decode(), loaded.zyfa_last_error().decode())


def version() -> str:
    """Version of the library, "0.1.0" for example."""
    return library().zyfa_version().decode()
