"""Kernels by what they compute, found in a folder once and kept."""

import ctypes
import os
import threading
from typing import Dict, Optional, Tuple, Union

from . import _library
from ._arrays import Place


class KernelCache:
    """Devices and kernels that are open, for as long as the process lives. Threads may share one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder: Optional[str] = None
        self._devices: Dict[Place, ctypes.c_void_p] = {}
        self._kernels: Dict[Tuple, ctypes.c_void_p] = {}

    @property
    def folder(self) -> str:
        """What was set; else the environment's ZYFA_KERNELS; else `kernels` in the package."""
        beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels")
        return self._folder or os.environ.get("ZYFA_KERNELS") or beside

    @folder.setter
    def folder(self, path: Union[str, "os.PathLike[str]", None]) -> None:
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"path is a {type(path).__name__}; accepted: str, os.PathLike, None")
        if path is not None and not os.path.isdir(path):
            raise ValueError(f"{os.fspath(path)} is no folder; accepted: one with kernels (.co and .json), None")
        self._folder = None if path is None else os.path.abspath(path)

    def find(self, place: Place, **traits: int) -> ctypes.c_void_p:
        """The kernel with these fields of zyfa_kernel_traits, those not named being 0. Raises Error if the folder
        holds none."""
        folder = self.folder
        key = (place, folder, *sorted(traits.items()))
        with self._lock:
            if key not in self._kernels:
                kernel, wanted = ctypes.c_void_p(), _library.KernelTraits(**traits)
                arguments = (os.fsencode(folder), ctypes.byref(wanted), ctypes.byref(kernel))
                _library.call("zyfa_kernel_find", self._device(place), *arguments)
                self._kernels[key] = kernel
            return self._kernels[key]

    def device_info(self, place: Place) -> _library.DeviceInfo:
        info = _library.DeviceInfo()
        with self._lock:
            _library.call("zyfa_device_get_info", self._device(place), ctypes.byref(info))
        return info

    def _device(self, place: Place) -> ctypes.c_void_p:
        if place not in self._devices:
            device = ctypes.c_void_p()
            _library.call("zyfa_device_open", _library.ABI_VERSION, place.backend, place.ordinal, ctypes.byref(device))
            self._devices[place] = device
        return self._devices[place]


cache = KernelCache()


def set_kernel_folder(path: Union[str, "os.PathLike[str]", None]) -> None:
    """Takes kernels from this folder (.co files with their .json, written by zyfa-gen) from now on. None goes back to
    the environment's ZYFA_KERNELS, or the folder `kernels` in the package."""
    cache.folder = path


def kernel_folder() -> str:
    """Where kernels are taken from."""
    return cache.folder
