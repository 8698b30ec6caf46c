#!/usr/bin/env python3
"""Installs a finished build: that runs none of its programs, which whoever installs may not be able to. The
pages of man(1) and the completions are there.

usage: install_test.py BUILD_FOLDER
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
NOBODY = 65534


class Install(unittest.TestCase):
    def test_it_runs_nothing_of_the_build(self):
        for script in BUILD.rglob("cmake_install.cmake"):
            self.assertNotRegex(script.read_text(), rf'COMMAND\s+"?{re.escape(str(BUILD))}', script)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_another_user_installs(self):
        other = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        script = BUILD / "cmake_install.cmake"
        if subprocess.run(["test", "-r", script], check=False, **other).returncode != 0:
            self.skipTest("another user cannot read the build folder")
        with tempfile.TemporaryDirectory() as folder:
            os.chown(folder, NOBODY, NOBODY)
            done = subprocess.run(["cmake", "--install", BUILD, "--prefix", folder], text=True,
                                  capture_output=True, check=False, **other)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(pathlib.Path(folder, "share/doc/assay/copyright").exists())

    def test_the_program_tells_of_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["cmake", "--install", BUILD, "--prefix", folder], text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            share = pathlib.Path(folder, "share")
            for name in ("man/man1/assay.1", "man/man1/assay-trace-report.1",
                         "bash-completion/completions/assay", "zsh/site-functions/_assay",
                         "fish/vendor_completions.d/assay.fish"):
                self.assertGreater((share / name).stat().st_size, 200, name)
            self.assertEqual([path.name for path in (share / "man/man1").iterdir()
                              if path.suffix != ".1"], [])


if __name__ == "__main__":
    unittest.main()
