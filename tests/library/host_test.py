#!/usr/bin/env python3
"""What a process that uses the library has set stays its own: a locale with a decimal comma changes no
number.

usage: ASSAY_LIBRARY=libassay.so PYTHONPATH=python host_test.py
"""
import locale
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import zipfile

import assay

SOURCE = pathlib.Path(os.environ.get("ASSAY_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
TRACE = SOURCE / "samples/traces-2gpu/ctas_default"
RUNS = SOURCE / "samples/sweep-nccl-ctas"


def has_comma(name):
    try:
        locale.setlocale(locale.LC_ALL, name)
        return locale.localeconv()["decimal_point"] == ","
    except locale.Error:
        return False
    finally:
        locale.setlocale(locale.LC_ALL, "C")


def comma_locale(folder):
    """A locale with a decimal comma that this machine has, or that it can make in the folder."""
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8"):
        if has_comma(name):
            return name
    if shutil.which("localedef"):
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"], check=False,
                       capture_output=True)
        os.environ["LOCPATH"] = str(folder)
        if has_comma("de_DE.UTF-8"):
            return "de_DE.UTF-8"
    raise unittest.SkipTest("no locale with a decimal comma here, nor what makes one")


def contents(folder):
    """What the files of a folder hold, of workbooks the cells."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".xlsx":
            with zipfile.ZipFile(path) as book:
                found |= {f"{path.name}:{name}": book.read(name) for name in book.namelist()
                          if name.startswith("xl/worksheets/")}
        elif path.suffix == ".csv":
            found[path.name] = path.read_bytes()
    return found


class Locale(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="assay-locale-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.addClassCleanup(locale.setlocale, locale.LC_ALL, "C")
        cls.comma = comma_locale(cls.folder)

    def in_both(self, body):
        """What body(folder) writes and returns, without a locale and with one."""
        made = []
        for name in ("C", self.comma):
            locale.setlocale(locale.LC_ALL, name)
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                returned = body(pathlib.Path(folder))
                made.append((returned, contents(pathlib.Path(folder))))
        self.assertEqual(locale.localeconv()["decimal_point"], ",")
        return made

    def test_workbooks_and_options(self):
        plain, other = self.in_both(lambda folder: assay.trace.report(
            next(TRACE.rglob("rank0")), output=folder, write=["xlsx", "csv"], short_kernel_us=7.5,
            threads=2).text)
        self.assertGreater(len(plain[1]), 10)
        for name, content in plain[1].items():
            self.assertEqual(other[1][name], content, name)

    def test_the_public_comparison(self):
        plain, other = self.in_both(lambda folder: assay.trace.compare(
            baseline=RUNS / "default/repeat1", test=RUNS / "16cta_256threads/repeat1",
            labels=["default", "other"], compat="tracelens", output=folder).text)
        self.assertGreater(len(plain[1]), 3)
        for name, content in plain[1].items():
            self.assertEqual(other[1][name], content, name)

    def test_progress_is_in_the_hosts_locale(self):
        points = set()

        def told(*_):
            points.add(locale.localeconv()["decimal_point"])
        self.in_both(lambda folder: assay.trace.analyze(TRACE, output=folder, progress=told).text)
        self.assertEqual(points, {".", ","})


if __name__ == "__main__":
    unittest.main()
