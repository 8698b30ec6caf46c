#!/usr/bin/env python3
"""Tests of compare_pytorch.py, with a program in assay's place.

usage: compare_pytorch_test.py
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TABLES = ("gemm", "context_attention", "generation_attention")
# Answers lines 2 and 3 of every file, line 2 twice; refuses line 4.
PROGRAM = """#!/bin/sh
echo "$@" >> "$LOG"
echo "line,latency (ms),low_80 (ms),high_80 (ms),refusal"
echo 2,1.5,1.4,1.6,
echo 2,1.1,0.9,1.2,
echo 3,3,,,
echo 4,,,,too far
exit 3
"""


class ComparePytorchTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-compare-"))
        self.program = self.folder / "assay"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        for table in TABLES:
            (self.folder / f"{table}.csv").write_text("gemm_dtype,m,latency_ms\nfp8,1,1\nfp8,2,4\nfp8,3,1\n")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def compare(self, *words):
        environment = {**os.environ, "ASSAY": str(self.program), "LOG": str(self.folder / "log")}
        return subprocess.run([sys.executable, HERE / "compare_pytorch.py", *words, self.folder],
                              capture_output=True, text=True, check=False, env=environment)

    def test_the_fastest_answer_counts_and_refusals_are_told(self):
        done = self.compare()
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 1 + len(TABLES))
        # Ratios 1.1 and 0.75: errors 10 and 25 %, of which being faster is none; the measured row's
        # interval is itself.
        self.assertEqual(lines[1].split(),
                         ["gemm", "fp8", "3", "1", "0.925", "17.5", "23.5", "5.0", "9.0", "50.0"])

    def test_a_store_is_passed_on(self):
        self.compare("--store", "mine.db")
        asked = (self.folder / "log").read_text().splitlines()
        self.assertEqual(len(asked), len(TABLES))
        self.assertTrue(all(line.endswith("--store mine.db") for line in asked), asked)

    def test_the_programs_failure_ends_it(self):
        self.program.write_text("#!/bin/sh\necho 'assay: no such store' >&2\nexit 1\n")
        done = self.compare()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no such store", done.stderr)


if __name__ == "__main__":
    unittest.main()
