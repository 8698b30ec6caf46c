#!/usr/bin/env python3
"""Proves that golden.py passes what is right and fails what is not."""
import contextlib
import io
import os
import pathlib
import tempfile
import unittest

import golden


class GoldenTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.case = pathlib.Path(folder.name).resolve()
        os.environ["ASSAY"] = "/bin/echo"

    def write(self, name, text):
        path = self.case / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def expect(self, cmd, **out):
        self.write("cmd", cmd)
        for name, text in {"stdout": "", "stderr": "", "exit": "0\n", **out}.items():
            self.write(f"out/{name}", text)

    def check(self, updating=False):
        self.said = io.StringIO()
        with contextlib.redirect_stdout(self.said):
            return golden.check(self.case, updating)

    def test_the_expected_output_passes(self):
        self.expect("$ASSAY hello", stdout="hello\n")
        self.assertEqual(self.check(), 0)

    def test_other_output_fails_and_is_shown(self):
        self.expect("$ASSAY hello", stdout="goodbye\n")
        self.assertEqual(self.check(), 1)
        self.assertIn("-goodbye\n+hello", self.said.getvalue())

    def test_stderr_and_exit_status_count(self):
        self.expect("$ASSAY oops >&2; exit 3", stderr="oops\n", exit="3\n")
        self.assertEqual(self.check(), 0)
        self.write("out/exit", "0\n")
        self.assertEqual(self.check(), 1)

    def test_written_files_count_and_none_is_missing_or_extra(self):
        self.expect("$ASSAY 1 > a.csv", **{"files/a.csv": "1\n"})
        self.assertEqual(self.check(), 0)
        self.write("out/files/b.csv", "2\n")
        self.assertEqual(self.check(), 1)
        (self.case / "out/files/b.csv").unlink()
        (self.case / "out/files/a.csv").unlink()
        self.assertEqual(self.check(), 1)

    def test_a_changed_input_fails_even_an_update(self):
        self.write("in/data", "old")
        self.expect("$ASSAY new > in/data")
        self.assertEqual(self.check(), 1)
        self.assertEqual(self.check(updating=True), 1)
        self.assertEqual((self.case / "in/data").read_text(encoding="utf-8"), "old")

    def test_numbers_are_exact_unless_the_case_gives_a_tolerance(self):
        self.expect("$ASSAY total 1.0000001 ms", stdout="total 1.0 ms\n")
        self.assertEqual(self.check(), 1)
        self.write("options", "tolerance 1e-6\n")
        self.assertEqual(self.check(), 0)
        self.write("out/stdout", "total 1.1 ms\n")
        self.assertEqual(self.check(), 1)
        self.write("out/stdout", "total 1.0 us\n")
        self.assertEqual(self.check(), 1)
        self.write("out/stdout", "total 1.0 ms 2\n")
        self.assertEqual(self.check(), 1)

    def test_masks_and_paths_make_output_repeatable(self):
        self.expect("$ASSAY took 0.$RANDOM s in $PWD", stdout="took <masked> s in $SCRATCH\n")
        self.write("options", r"mask [0-9.]+(?= s)" + "\n")
        self.assertEqual(self.check(), 0)

    def test_ignored_output_is_not_looked_at(self):
        self.expect("$ASSAY x | tee a.xlsx")
        self.write("options", "ignore *.xlsx\nignore stdout\n")
        self.assertEqual(self.check(), 0)

    def test_update_writes_what_then_passes(self):
        self.expect("$ASSAY new; $ASSAY 1 > sub/a 2>/dev/null; mkdir sub; $ASSAY 2 > sub/a")
        self.assertEqual(self.check(), 1)
        self.assertEqual(self.check(updating=True), 0)
        self.assertEqual(self.check(), 0)

    def test_missing_data_skips_with_a_reason(self):
        self.expect("$ASSAY")
        self.write("options", "requires no/such/folder\n")
        self.assertEqual(self.check(), golden.SKIPPED)
        self.assertIn("no/such/folder is not here", self.said.getvalue())


if __name__ == "__main__":
    unittest.main()
