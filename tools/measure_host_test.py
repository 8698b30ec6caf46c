#!/usr/bin/env python3
"""Tests of measure_host.sh, with programs that only tell how they were called."""
import fcntl
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).with_name("measure_host.sh")
WORKER = """#!/bin/sh
echo "$*" >>"$(dirname "$0")/calls"
case "$*" in
  *links*) [ ! -e "$(dirname "$0")/broken" ] || { echo "no link"; exit 1; } ;;
esac
echo '{"right": 12, "wrong": 0}'
"""


class MeasureHost(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name in ("assay", "assay-worker"):
            program = self.folder / name
            program.write_text(WORKER)
            program.chmod(0o755)

    def measure(self, *words, **variables):
        return subprocess.run([TOOL, "-o", self.folder / "out", "--assay", self.folder / "assay", *words],
                              capture_output=True, text=True, check=False, env={**os.environ, **variables})

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def test_every_part_that_is_listed_exists(self):
        names = [line.split()[0] for line in self.measure("--list").stdout.splitlines()]
        written = re.findall(r"^part_(\w+)\(\)", TOOL.read_text(), re.MULTILINE)
        self.assertCountEqual(names, written)

    def test_wrong_usage(self):
        for words, complaint in (((), "the number of GPUs"), (("1",), "the number of GPUs"),
                                 (("4", "linsk"), "no part is called 'linsk'"),
                                 (("4", "--minuets", "3"), "unknown option"),
                                 (("4", "--minutes"), "--minutes needs a value"),
                                 (("4", "--assay", "/nowhere/assay"), "there is no program")):
            said = self.measure(*words)
            self.assertEqual(said.returncode, 2, words)
            self.assertIn(complaint, said.stderr)

    def test_eight_ranks_share_the_gpus(self):
        self.measure("2", "shared")
        self.assertIn("--tp 8 --gpus 0,1,0,1,0,1,0,1 --self-test all", self.calls()[0])

    def test_memcheck_fails_where_it_finds_an_error(self):
        program = self.folder / "compute-sanitizer"
        program.write_text("#!/bin/sh\nshift 6\n\"$@\"\necho '========= ERROR SUMMARY: 1 error'\nexit 1\n")
        program.chmod(0o755)
        path = f"{self.folder}:{os.environ['PATH']}"
        failed = self.measure("2", "memcheck", PATH=path)
        self.assertIn("allreduce --tp 2 --self-test few", self.calls()[0])
        self.assertRegex(failed.stdout, r"memcheck +failed +exit 1 .*1 error")

    def test_a_part_that_is_done_is_not_run_again(self):
        first = self.measure("4", "self_test", "links")
        self.assertEqual(first.returncode, 0, first.stdout)
        self.assertEqual(len(self.calls()), 3)  # on 4 and on 2 GPUs, and the links
        again = self.measure("4", "self_test", "links", "delays")
        self.assertEqual(again.returncode, 0, again.stdout)
        self.assertEqual(len(self.calls()), 4)
        self.assertRegex(again.stdout, r"self_test +done before")
        self.assertIn('self_test: 2 GPUs: {"right": 12, "wrong": 0}',
                      (self.folder / "out" / "summary.txt").read_text())

    def test_the_others_go_on_after_a_failure_which_is_tried_again(self):
        (self.folder / "broken").touch()
        failed = self.measure("4", "links", "delays")
        self.assertEqual(failed.returncode, 1)
        self.assertRegex(failed.stdout, r"links +failed +exit 1 .*no link")
        self.assertRegex(failed.stdout, r"delays +done")
        (self.folder / "broken").unlink()
        self.assertRegex(self.measure("4", "links").stdout, r"links +done +\d")

    def test_two_runs_do_not_share_a_folder(self):
        (self.folder / "out").mkdir()
        with (self.folder / "out" / ".lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            said = self.measure("4", "links")
        self.assertEqual(said.returncode, 1)
        self.assertIn("another run measures into", said.stderr)

    def test_what_the_time_does_not_hold_is_left(self):
        said = self.measure("4", "--minutes", "1", "mixed", "links")
        self.assertEqual(said.returncode, 1)
        self.assertRegex(said.stdout, r"mixed +left +takes about \d+ s")
        self.assertRegex(said.stdout, r"links +done")


if __name__ == "__main__":
    unittest.main()
