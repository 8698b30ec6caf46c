#!/usr/bin/env python3
"""What a process that uses the library has set or handles stays its own: its locale and its signals. A
locale with a decimal comma changes no number, and programs that calls run end as their caller says.

usage: ASSAY_LIBRARY=libassay.so PYTHONPATH=python host_test.py
"""
import contextlib
import locale
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

import assay

SOURCE = pathlib.Path(os.environ.get("ASSAY_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
TRACE = SOURCE / "samples/traces-2gpu/ctas_default"
RUNS = SOURCE / "samples/sweep-nccl-ctas"
RECORDER = pathlib.Path(os.environ.get("ASSAY_LIBRARY", "")).parent / "libassay_recorder.so"
SIGPIPE_BIT = 1 << (signal.SIGPIPE - 1)


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

        def until_told(folder):
            """A fast machine is done before progress is told the first time."""
            before = len(points)
            for turn in range(200):
                assay.trace.analyze(TRACE, output=folder / str(turn), progress=told)
                if len(points) > before:
                    return
        self.in_both(until_told)
        self.assertEqual(points, {".", ","})


@contextlib.contextmanager
def recording_folder():
    with tempfile.TemporaryDirectory(prefix="assay-host-") as folder:
        yield pathlib.Path(folder, "recording")


def living(folder):
    """The processes of the job that records into the folder."""
    mark = b"ASSAY_RECORDER_OUTPUT=" + os.fsencode(folder)
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
    return found


def wait_until(is_so, seconds=10):
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.02)
    return is_so()


def signals_of(status):
    """The masks of handled and ignored signals that a /proc/PID/status tells."""
    return {line.split()[0]: int(line.split()[1], 16) for line in status.splitlines()
            if line.startswith(("SigCgt", "SigIgn"))}


@unittest.skipUnless(RECORDER.exists(), "this library came without the recorder")
class Programs(unittest.TestCase):
    SLEEPERS = ("--", "sh", "-c", "sleep 61 & sleep 62")

    def own_signals(self):
        return signals_of(pathlib.Path("/proc/self/status").read_text())

    def test_signals_are_the_hosts(self):
        before = self.own_signals()
        with recording_folder() as folder:
            during, job = folder.with_name("host"), folder.with_name("job")
            assay.record("--", "sh", "-c", f"cat /proc/$PPID/status > {during}; "
                         f"cat /proc/self/status > {job}", output=folder)
            self.assertEqual(signals_of(during.read_text()), before)
            # Python ignores SIGPIPE for itself.
            self.assertEqual(signals_of(job.read_text())["SigIgn:"] & SIGPIPE_BIT, 0)

    def test_signals_after_calls_that_overlap(self):
        before = self.own_signals()
        with recording_folder() as one, recording_folder() as other:
            calls = [threading.Thread(target=assay.record, args=("--", "sleep", seconds),
                                      kwargs={"output": folder})
                     for seconds, folder in (("0.2", one), ("0.4", other))]
            for call in calls:
                call.start()
            for call in calls:
                call.join()
        self.assertEqual(self.own_signals(), before)

    def test_ctrl_c(self):
        with recording_folder() as folder:
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            with self.assertRaises(KeyboardInterrupt):
                assay.record(*self.SLEEPERS, output=folder)
            self.assertEqual(living(folder), [])

    def test_progress_stops(self):
        with recording_folder() as folder:
            with self.assertRaises(assay.Stopped):
                assay.record(*self.SLEEPERS, output=folder,
                             progress=lambda *_: len(living(folder)) < 3)
            self.assertEqual(living(folder), [])

    def test_the_host_is_ended(self):
        script = "import assay, sys; assay.record(*sys.argv[2:], output=sys.argv[1])"
        with recording_folder() as folder:
            with subprocess.Popen([sys.executable, "-c", script, folder, "--", "sleep", "63"],
                                  env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}) as host:
                self.assertTrue(wait_until(lambda: living(folder)))
                host.terminate()
                self.assertEqual(host.wait(), -signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not living(folder)))

    def test_exit_codes(self):
        for end, code in (("exit 1", 1), ("exit 2", 2), ("exit 3", 3), ("exit 130", 130),
                          ("kill -9 $$", 137)):
            with recording_folder() as folder:
                with self.assertRaisesRegex(assay.AssayError,
                                            f"'sh' ended with exit code {code}$") as raised:
                    assay.record("--", "sh", "-c", end, output=folder)
            self.assertIs(type(raised.exception), assay.AssayError)
            self.assertEqual(raised.exception.result.exit_code, code)
        with recording_folder() as folder:
            self.assertEqual(assay.record("--", "true", output=folder).exit_code, 0)

    def test_a_program_that_is_not_there(self):
        with recording_folder() as folder:
            with self.assertRaisesRegex(assay.AssayError, "cannot start 'no-such-program'") as raised:
                assay.record("--", "no-such-program", output=folder)
        self.assertEqual(raised.exception.result.exit_code, 127)


if __name__ == "__main__":
    unittest.main()
