#!/usr/bin/env python3
"""python/assay_allreduce where there is no PyTorch: its structs against the C header, its wheel in a
fresh environment, and its Python on a stand-in for PyTorch (tests/fake_torch) with ranks as threads.
What only a real PyTorch shows is torch_gpu_test.py's.

environment: TORCH_OPERATORS, FAKE_TORCH, FAKE_ALLREDUCE: the shared libraries
"""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
HEADER = SOURCE / "include/assay/allreduce.h"
TABLE = SOURCE / "samples/allreduce-h200/gen_heuristic_code/allreduce_table.json"
ON_STANDIN = pathlib.Path(__file__).with_name("torch_standin_checks.py")


def run(*command, **options):
    return subprocess.run([str(part) for part in command], text=True, capture_output=True,
                          check=False, **options)


def library_module():
    spec = importlib.util.spec_from_file_location(
        "library", SOURCE / "python/assay_allreduce/_library.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Interface(unittest.TestCase):
    """The ctypes side of assay/allreduce.h."""

    @classmethod
    def setUpClass(cls):
        cls.library = library_module()
        cls.text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)

    def fields(self, struct):
        body = re.search(rf"typedef struct \{{([^}}]*)\}} {struct};", self.text)[1]
        return re.findall(r"(\w+)(?:\[\d+\])?;", body)

    def c_numbers(self, expressions):
        """What a C program that includes the header says of them."""
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "numbers.c"
            source.write_text("#include <assay/allreduce.h>\n#include <stdio.h>\nint main(void) {\n"
                              + "".join(f'  printf("%ld\\n", (long)({each}));\n'
                                        for each in expressions) + "  return 0;\n}\n",
                              encoding="ascii")
            built = run("cc", "-std=c99", "-I", SOURCE / "include", source, "-o",
                        source.with_suffix(""))
            self.assertEqual(built.returncode, 0, built.stderr)
            return list(map(int, run(source.with_suffix("")).stdout.split()))

    def check_struct(self, struct, ours):
        names = [name for name, *_ in ours._fields_]
        self.assertEqual(names, self.fields(struct))
        expected = self.c_numbers([f"sizeof({struct})"] + [
            f"(char*)&(({struct}*)0)->{name} - (char*)0" for name in names] + [
            f"sizeof((({struct}*)0)->{name})" for name in names])
        fields = [getattr(ours, name) for name in names]
        self.assertEqual([self.library.ctypes.sizeof(ours)] + [field.offset for field in fields] + [
            field.size for field in fields], expected)

    def test_structs(self):
        self.check_struct("assay_allreduce_call", self.library.Call)
        self.check_struct("assay_allreduce_options", self.library.Options)

    def test_numbers(self):
        for prefix, ours in (("", self.library.Strategy), ("FUSION_", self.library.Fusion),
                             ("", self.library.DataType)):
            self.assertEqual([each.value for each in ours], self.c_numbers(
                [f"ASSAY_ALLREDUCE_{prefix}{each.name}" for each in ours]))
        layouts = self.library.ScaleLayout
        self.assertEqual([layouts.BLOCKS_128X4, layouts.LINEAR, layouts.BLOCKS_8X4], self.c_numbers(
            [f"ASSAY_ALLREDUCE_SCALE_{name}" for name in ("DEFAULT", "LINEAR", "BLOCKS_8X4")]))
        self.assertEqual([self.library.MAX_RANKS, self.library.HANDLE_BYTES], self.c_numbers(
            ["ASSAY_ALLREDUCE_MAX_RANKS", "sizeof(assay_allreduce_handle)"]))

    def test_strategies(self):
        """One that is added is added everywhere."""
        body = re.search(r"typedef enum \{([^}]*)\} assay_allreduce_strategy;", self.text)[1]
        header = {name: int(number)
                  for name, number in re.findall(r"ASSAY_ALLREDUCE_(\w+) = (\d+)", body)}
        self.assertEqual({each.name: each.value for each in self.library.Strategy}, header)
        text = (SOURCE / "src/allreduce/strategy.h").read_text(encoding="utf-8")
        body = re.search(r"enum class Strategy[^{]*\{([^}]*)\}", text)[1]
        own = [(name.upper(), int(number)) for name, number in re.findall(r"k(\w+) = (\d+)", body)]
        self.assertEqual(own, [(name.replace("_", ""), number) for name, number in header.items()])

    def test_functions(self):
        for name in [*self.library.SIGNATURES, "error", "nccl_version"]:
            self.assertRegex(self.text, rf"\bassay_allreduce_{name}\(")
        for name, arguments in self.library.SIGNATURES.items():
            declared = re.search(rf"\bassay_allreduce_{name}\(([^)]*)\)", self.text)[1]
            self.assertEqual(len(declared.split(",")), len(arguments), name)


class Wheel(unittest.TestCase):
    """Built with the stand-in as libassay_allreduce.so, and installed where there is nothing else."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.wheels = [cls.make(cls.folder / name) for name in ("one", "two")]
        made = run(sys.executable, "-m", "venv", cls.folder / "venv")
        assert made.returncode == 0, made.stderr
        cls.python = cls.folder / "venv/bin/python"
        installed = run(cls.python, "-m", "pip", "install", "--no-index", cls.wheels[0])
        assert installed.returncode == 0, installed.stdout + installed.stderr

    @staticmethod
    def make(output):
        made = run(sys.executable, SOURCE / "tools/make_wheel.py", "--library",
                   os.environ["FAKE_ALLREDUCE"], "--operators", os.environ["TORCH_OPERATORS"],
                   "--table", f"sm90={TABLE}", "--license", SOURCE / "LICENSE", "--version",
                   "1.2.3", "-o", output)
        assert made.returncode == 0, made.stderr
        return pathlib.Path(made.stdout.strip())

    def test_name_and_contents(self):
        self.assertRegex(self.wheels[0].name,
                         r"^assay-1\.2\.3-py3-none-manylinux_2_\d+_x86_64\.whl$")
        names = zipfile.ZipFile(self.wheels[0]).namelist()
        sources = {f"assay_allreduce/{path.name}"
                   for path in (SOURCE / "python/assay_allreduce").glob("*.py")}
        self.assertLessEqual(sources | {"assay_allreduce/libassay_allreduce.so.1",
                                        "assay_allreduce/libassay_allreduce_torch.so",
                                        "assay_allreduce/tables/sm90.json"}, set(names))
        self.assertEqual(names[-1], "assay-1.2.3.dist-info/RECORD")

    def test_the_same_bytes_twice(self):
        self.assertEqual(self.wheels[0].read_bytes(), self.wheels[1].read_bytes())

    def test_another_interface_is_refused(self):
        made = run(sys.executable, SOURCE / "tools/make_wheel.py", "--library",
                   os.environ["FAKE_TORCH"], "--operators", os.environ["TORCH_OPERATORS"],
                   "--version", "1", "-o", self.folder / "refused")
        self.assertEqual(made.stderr, "make_wheel.py: assay_allreduce/_library.py is for another "
                         "interface than libtorch_cuda.so\n")
        self.assertFalse((self.folder / "refused").exists())

    def test_pip_knows_its_files(self):
        checked = run(self.python, "-m", "pip", "show", "--files", "assay")
        self.assertIn("assay_allreduce/tables/sm90.json", checked.stdout)
        self.assertNotIn("Cannot locate", checked.stdout)

    def test_one_clear_error_without_pytorch(self):
        said = run(self.python, "-c", "import assay_allreduce")
        self.assertNotEqual(said.returncode, 0)
        self.assertEqual(said.stderr.count("Traceback"), 1)
        self.assertRegex(said.stderr.splitlines()[-1],
                         "^ImportError: assay_allreduce needs PyTorch for CUDA")

    def standin(self):
        """A folder with `torch`, whose libraries are the stand-in's."""
        folder = self.folder / "standin"
        if not folder.exists():
            shutil.copytree(SOURCE / "tests/fake_torch/torch", folder / "torch")
            (folder / "torch/lib").mkdir()
            for name in ("libtorch_cpu.so", "libtorch_cuda.so"):
                shutil.copy(os.environ["FAKE_TORCH"], folder / "torch/lib" / name)
        return folder

    def test_on_a_standin_for_pytorch(self):
        said = run(self.python, ON_STANDIN, env={**os.environ, "PYTHONPATH": str(self.standin())})
        self.assertEqual(said.returncode, 0, said.stderr)

    def test_one_clear_error_with_a_pytorch_for_cpus(self):
        code = "import torch; torch.version.cuda = None; import assay_allreduce"
        said = run(self.python, "-c", code, env={**os.environ, "PYTHONPATH": str(self.standin())})
        self.assertIn("ImportError: assay_allreduce needs a PyTorch for CUDA; this one is 2.11.0+fake",
                      said.stderr)


if __name__ == "__main__":
    unittest.main()
