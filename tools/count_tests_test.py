#!/usr/bin/env python3
"""Tests of count_tests.py."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).with_name("count_tests.py")
CTEST = """<testsuite>
<testcase name="golden.a" status="run"/>
<testcase name="golden.b" status="fail"/>
<testcase name="golden.c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
{}</testsuite>"""
UNIT = """<testsuites><testsuite name="Text">
<testcase name="Joins" classname="Text" status="run" result="completed"/>
<testcase name="Splits" classname="Text" status="run" result="skipped">
  <skipped message="text_test.cc:12&#x0A;no terminal here&#x0A;"/></testcase>
{}</testsuite></testsuites>"""


class CountTests(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def count(self, ctest_line="", unit_lines=None):
        (self.folder / "junit.xml").write_text(CTEST.format(ctest_line))
        if unit_lines is not None:
            (self.folder / "core.xml").write_text(UNIT.format(unit_lines))
        said = subprocess.run([sys.executable, TOOL, self.folder / "junit.xml", self.folder],
                              check=True, capture_output=True, text=True).stdout
        return said.splitlines()

    def test_tests_of_ctest(self):
        self.assertEqual(self.count(), ["1 1 1", "  failed: golden.b", "  skipped: golden.c: SKIP_RETURN_CODE=77"])

    def test_cases_of_a_program_count_instead_of_it(self):
        self.assertEqual(self.count('<testcase name="unit.core" status="run"/>', "")[0], "2 1 2")

    def test_a_skipped_case_tells_its_reason(self):
        self.assertIn("  skipped: Text.Splits: no terminal here",
                      self.count('<testcase name="unit.core" status="run"/>', ""))

    def test_a_failed_case_counts_once(self):
        failed = '<testcase name="Fails" classname="Text" status="run"><failure message="x"/></testcase>'
        self.assertEqual(self.count('<testcase name="unit.core" status="fail"/>', failed)[0], "2 2 2")

    def test_a_program_that_fails_after_its_cases_counts(self):
        self.assertEqual(self.count('<testcase name="unit.core" status="fail"/>', "")[0], "2 2 2")

    def test_a_program_without_a_report_is_one_test(self):
        self.assertEqual(self.count('<testcase name="unit.core" status="fail"/>')[0], "1 2 1")


if __name__ == "__main__":
    unittest.main()
