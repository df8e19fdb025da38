"""zyfa: FP8 attention for AMD's MI350X and MI355X (gfx950) by generated kernels, or in zyfa's emulator without a GPU.

docs/python.md shows it in use."""

from ._kernels import kernel_folder, set_kernel_folder
from ._library import Error, version as library_version
from .attention import flash_attn_fp8_func, flash_attn_func, flash_attn_varlen_func
from .quantisation import quantise

__all__ = [
    "Error",
    "flash_attn_fp8_func",
    "flash_attn_func",
    "flash_attn_varlen_func",
    "kernel_folder",
    "library_version",
    "quantise",
    "set_kernel_folder",
]
