"""How the package and libzyfa find and understand each other."""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy

import support
import zyfa
from zyfa import _kernels, _library
from zyfa._arrays import Place


def compiled(source):
    """What a C program that includes zyfa.h prints."""
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "program")
        include = os.path.join(os.environ["ZYFA_SOURCE_DIR"], "runtime_loader", "library")
        command = [os.environ["ZYFA_CXX"], "-x", "c", "-", "-I", include, "-o", program]
        subprocess.run(command, input=source, text=True, check=True)
        return subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout


def python(code, **environment):
    options = {"env": {**os.environ, **environment}, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run([sys.executable, "-c", code], text=True, **options).stdout


class Header(unittest.TestCase):
    def test_structs(self):
        lines, expected = [], []
        for name, struct in _library.STRUCTS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            expected.append(f"{name} {ctypes.sizeof(struct)}")
            for field, *_ in struct._fields_:
                lines.append(
                    f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name}*)0)->{field}));'
                )
                place = getattr(struct, field)
                expected.append(f"{name}.{field} {place.offset} {place.size}")
        program = f'#include "zyfa.h"\n#include <stdio.h>\nint main(void) {{ {" ".join(lines)} }}'
        self.assertEqual(compiled(program).splitlines(), expected)

    def test_constants(self):
        names = ["ABI_VERSION", "HIP", "EMULATOR", "ATTENTION", "QUANTISE", "QUERY_FP8", "QUERY_BF16"]
        prints = " ".join(f'printf("%d\\n", ZYFA_{name});' for name in names)
        values = compiled(f'#include "zyfa.h"\n#include <stdio.h>\nint main(void) {{ {prints} }}').split()
        self.assertEqual([getattr(_library, name) for name in names], list(map(int, values)))


class Installed(unittest.TestCase):
    def test_the_library_beside_the_package(self):
        """Wherever libraries go. The package's part of the build alone, in a project of nothing else."""
        source = os.path.join(os.environ["ZYFA_SOURCE_DIR"], "runtime_loader", "python")
        project = f"cmake_minimum_required(VERSION 3.23)\nproject(package NONE)\nadd_subdirectory({source} python)\n"
        for folder in ("lib", "lib64", "lib/x86_64-linux-gnu", "/absolute"):
            with self.subTest(folder=folder), tempfile.TemporaryDirectory() as directory:
                pathlib.Path(directory, "CMakeLists.txt").write_text(project)
                build, prefix = os.path.join(directory, "build"), os.path.join(directory, "pre fix")
                folder = folder.replace("/absolute", os.path.join(directory, "elsewhere"))
                configure = ["cmake", "-S", directory, "-B", build, f"-DCMAKE_INSTALL_LIBDIR={folder}"]
                for command in (configure, ["cmake", "--install", build, "--prefix", prefix]):
                    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
                library = pathlib.Path(prefix, folder, "libzyfa.so")
                library.parent.mkdir(parents=True, exist_ok=True)
                library.touch()
                package = pathlib.Path(prefix, "lib", "zyfa", "python", "zyfa")
                self.assertTrue((package / "__init__.py").exists())
                self.assertTrue(os.path.samefile(package / "libzyfa.so", library))


class Finding(unittest.TestCase):
    def tearDown(self):
        zyfa.set_kernel_folder(None)

    def test_version(self):
        self.assertRegex(zyfa.library_version(), r"^\d+\.\d+\.\d+$")

    def test_without_numpy_and_torch(self):
        code = "import sys, zyfa; zyfa.library_version(); print(sorted({'numpy', 'torch'} & set(sys.modules)))"
        self.assertEqual(python(code), "[]\n")

    def test_numpy_alone(self):
        code = (
            "import sys, numpy, zyfa; x = numpy.ones((1, 3, 1, 128), numpy.float32)\n"
            "print(zyfa.flash_attn_func(x, x, x).sum(), 'torch' in sys.modules)"
        )
        self.assertEqual(python(code), "384.0 False\n")

    def test_a_library_that_is_not_there(self):
        output = python("import zyfa; zyfa.library_version()", ZYFA_LIBRARY="/nowhere/libzyfa.so")
        self.assertRegex(output, "zyfa.*Error: libzyfa cannot be loaded .*/nowhere.*ZYFA_LIBRARY")

    def test_a_library_of_something_else(self):
        output = python("import zyfa; zyfa.library_version()", ZYFA_LIBRARY="libc.so.6")
        self.assertRegex(output, "Error: libc.so.6 is no libzyfa")

    def attend(self):
        x = numpy.ones((1, 3, 1, 128), numpy.float32)
        return zyfa.flash_attn_func(x, x, x)

    def test_kernel_folder(self):
        folder = zyfa.kernel_folder()
        self.attend()
        with tempfile.TemporaryDirectory() as empty:
            zyfa.set_kernel_folder(pathlib.Path(empty))
            self.assertEqual(zyfa.kernel_folder(), empty)
            with self.assertRaisesRegex(zyfa.Error, empty) as caught:
                self.attend()
            self.assertEqual(caught.exception.status, "ZYFA_NO_KERNEL")
            zyfa.set_kernel_folder(folder)
            self.assertEqual(self.attend().sum(), 384)
            output = python("import zyfa; print(zyfa.kernel_folder())", ZYFA_KERNELS=empty)
            self.assertEqual(output, empty + "\n")
        with self.assertRaisesRegex(ValueError, "/nowhere is no folder; accepted: one with kernels"):
            zyfa.set_kernel_folder("/nowhere")

    def test_a_kernel_is_opened_once(self):
        self.attend()
        place = Place(_library.EMULATOR, 0)
        traits = dict(kind=_library.ATTENTION, head_dim=128, v_head_dim=128, q_type=_library.QUERY_BF16)
        first = _kernels.cache.find(place, **traits)
        self.assertIs(_kernels.cache.find(place, **traits), first)
        self.assertIsNot(_kernels.cache.find(place, **{**traits, "causal": 1}), first)

    def test_device_info(self):
        info = _kernels.cache.device_info(Place(_library.EMULATOR, 0))
        self.assertEqual((info.backend, info.ordinal, info.runtime), (_library.EMULATOR, 0, b"emulator"))


if __name__ == "__main__":
    unittest.main()
