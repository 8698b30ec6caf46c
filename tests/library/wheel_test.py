#!/usr/bin/env python3
"""Makes the wheel of this build's libassay, installs it where there is nothing else of ours, and runs
python_test.py, interrupt_test.py and host_test.py there, with the system's NumPy and pandas.

usage: ENGINE=libassay.so MEASURE=libassay_measure.so ALLREDUCE=libassay_allreduce.so
       TORCH_OPERATORS=libassay_allreduce_torch.so wheel_test.py
"""
import ast
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing
import unittest
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def run(*words, **settings):
    return subprocess.run([str(word) for word in words], text=True, capture_output=True, check=False,
                          **settings)


def environment(**more):
    kept = {name: value for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "ASSAY_LIBRARY")}
    return kept | more


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="assay-wheel-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        made = run(sys.executable, SOURCE / "tools/make_wheel.py", "--engine", os.environ["ENGINE"],
                   "--measure", os.environ["MEASURE"], "--library", os.environ["ALLREDUCE"],
                   "--operators", os.environ["TORCH_OPERATORS"], "--license", SOURCE / "LICENSE",
                   "--version", "1.2.3", "-o", cls.folder)
        assert made.returncode == 0, made.stderr
        cls.wheel = pathlib.Path(made.stdout.strip())
        made = run(cls.system_python(), "-m", "venv", "--system-site-packages", cls.folder / "venv")
        assert made.returncode == 0, made.stderr
        cls.python = cls.folder / "venv/bin/python"
        installed = run(cls.python, "-m", "pip", "install", "--no-index", "--no-deps", cls.wheel)
        assert installed.returncode == 0, installed.stdout + installed.stderr

    @staticmethod
    def system_python():
        """The distribution's, which its packages of NumPy and pandas are for."""
        return "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable

    def test_name_and_contents(self):
        self.assertRegex(self.wheel.name, r"^assay-1\.2\.3-py3-none-manylinux_2_\d+_x86_64\.whl$")
        names = set(zipfile.ZipFile(self.wheel).namelist())
        self.assertLessEqual({"assay/__init__.py", "assay/__init__.pyi", "assay/py.typed",
                              "assay/lib/libassay.so.0", "assay-1.2.3.dist-info/RECORD"}, names)

    def test_libraries_have_names_of_their_own(self):
        with tempfile.TemporaryDirectory() as folder:
            zipfile.ZipFile(self.wheel).extractall(folder)
            paths = list(pathlib.Path(folder, "assay/lib").iterdir())
            self.assertGreater(len(paths), 3)
            for path in paths:
                said = run("readelf", "--dynamic", "--wide", path).stdout
                needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
                for name in needed:
                    self.assertTrue(
                        (path.parent / name).exists()
                        or re.match(r"(lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s)|ld-linux.*)\.so", name),
                        f"{path.name} needs {name}")

    def test_what_it_can_do(self):
        for test in ("python_test.py", "interrupt_test.py", "host_test.py"):
            done = run(self.python, SOURCE / "tests/library" / test, cwd=self.folder,
                       env=environment(ASSAY_SOURCE=str(SOURCE)))
            self.assertEqual(done.returncode, 0, done.stderr)
        place = run(self.python, "-c", "import assay; print(assay.__file__)", cwd=self.folder,
                    env=environment()).stdout
        self.assertIn(str(self.folder), place)

    def test_what_needs_programs_says_so(self):
        remedy = ("this library came without assay's programs: install assay's package, and set "
                  "ASSAY_LIBRARY to its lib/libassay.so.0")
        module = self.folder / "operators.py"
        module.write_text("")
        for call, missing in (("assay.record('--', 'true')", "libassay_recorder.so"),
                              ("assay.collect('gemm', device='cpu', m=1, n=8, k=8, output='perf')",
                               "assay-cpu-worker"),
                              (f"assay.collect(module={str(module)!r}, device='cpu', output='perf')",
                               "assay_module_worker.py")):
            done = run(self.python, "-c", f"import assay; {call}", cwd=self.folder, env=environment())
            said = done.stderr.splitlines()[-1]
            self.assertRegex(said, f"^assay._errors.AssayError: no {missing} beside [^;]*; {remedy}$")

    def test_the_oldest_python(self):
        """Nothing here runs Python 3.9: its parser must take all sources, and annotations that are
        evaluated must not need a newer one."""
        with zipfile.ZipFile(self.wheel) as wheel:
            information = wheel.read("assay-1.2.3.dist-info/METADATA").decode()
            sources = {name: wheel.read(name) for name in wheel.namelist()
                       if name.endswith((".py", ".pyi"))}
        oldest = re.search(r"^Requires-Python: >=3\.(\d+)$", information, re.MULTILINE)
        self.assertGreater(len(sources), 15)
        for name, text in sources.items():
            tree = ast.parse(text, name, feature_version=(3, int(oldest[1])))
            for node in ast.walk(tree):
                note = getattr(node, "annotation", None) or getattr(node, "returns", None)
                alternatives = [part for part in ast.walk(note) if isinstance(part, ast.BinOp)] if note else []
                self.assertEqual(alternatives, [], f"{name}: {ast.unparse(node)}")

    def test_the_operators_without_pytorch(self):
        if run(self.python, "-c", "import torch").returncode == 0:
            self.skipTest("this Python has PyTorch")
        for module in ("assay_allreduce", "assay_allreduce.vllm", "assay_allreduce.communicator"):
            done = run(self.python, "-c", f"import {module}", cwd=self.folder, env=environment())
            self.assertRegex(done.stderr.splitlines()[-1],
                             "^ImportError: assay_allreduce needs PyTorch for CUDA, which this Python")
            self.assertNotIn("another exception", done.stderr)
        for module in ("assay", "assay_allreduce_vllm"):
            self.assertEqual(run(self.python, "-c", f"import {module}", cwd=self.folder,
                                 env=environment()).returncode, 0)

    def test_types(self):
        """The stubs name everything that the package has."""
        made = run(sys.executable, SOURCE / "tools/python_stubs.py",
                   env=environment(PYTHONPATH=str(SOURCE / "python"),
                                   ASSAY_LIBRARY=os.environ["ENGINE"]))
        self.assertEqual(made.stdout, (SOURCE / "python/assay/__init__.pyi").read_text(),
                         "tools/python_stubs.py > python/assay/__init__.pyi makes it anew")

    def test_types_have_a_meaning(self):
        """A stub is Python: each name in it must be known where a checker of types reads it."""
        stub = {"__name__": "stub"}
        exec((SOURCE / "python/assay/__init__.pyi").read_text(), stub)
        classes = [one for one in stub.values() if inspect.isclass(one) and one.__module__ == "stub"]
        functions = [one for owner in classes for one in vars(owner).values()
                     if inspect.isfunction(one)]
        self.assertGreater(len(functions), 60)
        for one in [*classes, *functions, stub["run"], stub["compare"]]:
            typing.get_type_hints(one, stub)
        keywords = inspect.signature(stub["_Goal"].generate).parameters
        self.assertLessEqual({"output", "workers"}, set(keywords))

    @unittest.skipUnless(shutil.which("mypy"), "no mypy here")
    def test_types_of_a_program(self):
        program = self.folder / "program.py"
        program.write_text("""import pathlib
import assay
made = assay.goal.generate(pathlib.Path("recording"), output="schedule", write=["csv", "json"])
latency: float = assay.store("h200_sxm").gemm(m=3).latency
names: list[str] = [name for name in made.table if name in made.table]
assay.sweep.run("--", "sh", "run.sh", set=["A=,1"], progress=lambda doing, done, total: False)
""")
        done = run("mypy", "--strict", "--python-executable", self.python, program,
                   env=environment(MYPY_CACHE_DIR=str(self.folder / "mypy")))
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
