#!/usr/bin/env python3
"""docs/c.md is what the header says, every function of the library stands there, and the programs in C
compile as strict C99 and run.

usage: ENGINE=libassay.so header_test.py
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ENGINE = pathlib.Path(os.environ["ENGINE"])


def run(*words):
    done = subprocess.run([str(word) for word in words], text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


class Header(unittest.TestCase):
    def test_the_page_is_current(self):
        self.assertEqual(run(sys.executable, SOURCE / "tools/c_manual.py"),
                         (SOURCE / "docs/c.md").read_text(), "tools/c_manual.py > docs/c.md makes it anew")

    def test_every_function_is_on_the_page(self):
        exported = set(re.findall(r" T (assay_\w+)$", run("nm", "--dynamic", ENGINE), re.MULTILINE))
        described = set(re.findall(r"^### (assay_\w+)$", (SOURCE / "docs/c.md").read_text(),
                                   re.MULTILINE))
        self.assertGreater(len(exported), 15)
        self.assertLessEqual(exported, described)

    def test_everything_has_a_contract(self):
        parts = re.split(r"^##+ ", (SOURCE / "docs/c.md").read_text(), flags=re.MULTILINE)
        for part in parts[1:]:
            if part.startswith("assay_"):
                self.assertNotEqual(part.split("\n```\n")[1].strip(), "", part)

    def compiled(self, source, standard):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = pathlib.Path(folder.name, source.stem)
        run("cc", f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic",
            "-I", SOURCE / "include", source, "-o", program, ENGINE, f"-Wl,-rpath,{ENGINE.parent}")
        return program

    def test_the_example(self):
        said = run(self.compiled(SOURCE / "examples/c/ask.c", "c99")).splitlines()
        self.assertRegex(said[0], r"^m =    1: 0\.0\d+ ms$")
        self.assertIn("table contents", said)

    def test_a_program(self):
        program = self.compiled(SOURCE / "tests/library/c_program.c", "gnu99")
        self.assertRegex(run(program, SOURCE / "samples/allreduce-h200"), "^1000 answers; ")


if __name__ == "__main__":
    unittest.main()
