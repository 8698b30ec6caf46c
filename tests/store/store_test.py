#!/usr/bin/env python3
"""Tests of `assay store` that need a system's limits: a full disk, two writers, a read-only folder.

usage: ASSAY=PROGRAM store_test.py
"""
import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

ASSAY = os.environ["ASSAY"]
NOBODY = 65534
COLUMNS = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency"


def gemm_file(path, rows, version="1.0"):
    lines = [COLUMNS]
    lines += [f"VLLM,{version},NVIDIA H200,gemm,default,bfloat16,{m},4096,4096,{0.001 * (m + 1)}"
              for m in range(rows)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def assay(*words, **options):
    return subprocess.run([ASSAY, "store", *map(str, words)], capture_output=True, text=True,
                          timeout=120, check=False, **options)


def count_rows(store):
    with sqlite3.connect(store) as database:
        return database.execute("SELECT count(*) FROM gemm_perf").fetchone()[0]


def integrity(store):
    with sqlite3.connect(store) as database:
        return database.execute("PRAGMA integrity_check").fetchone()[0]


class StoreTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-store-"))
        self.store = self.folder / "test.db"

    def tearDown(self):
        shutil.rmtree(self.folder)

    def test_full_disk_loses_nothing(self):
        small = gemm_file(self.folder / "small/gemm_perf.txt", 100)
        large = gemm_file(self.folder / "large/gemm_perf.txt", 50_000, "2.0")
        self.assertEqual(assay("import", small, "--store", self.store).returncode, 0)

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        full = assay("import", large, "--store", self.store, preexec_fn=limit)
        self.assertEqual(full.returncode, 1, full.stderr)
        self.assertIn(str(self.store), full.stderr)
        self.assertIn("disk is full", full.stderr)
        self.assertEqual(full.stderr.count("assay:"), 1, full.stderr)
        self.assertEqual(count_rows(self.store), 100)
        self.assertEqual(integrity(self.store), "ok")
        # The file is not taken for imported.
        self.assertEqual(assay("import", large, "--store", self.store).returncode, 0)
        self.assertEqual(count_rows(self.store), 50_100)

    def test_two_imports_at_once(self):
        commands = []
        for i in range(2):
            for part in range(5):
                gemm_file(self.folder / f"{i}/{part}/gemm_perf.txt", 2000, f"{i}.{part}")
            commands.append([ASSAY, "store", "import", self.folder / str(i), "--store", self.store])
        running = [subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                   for c in commands]
        for process in running:
            errors = process.communicate(timeout=120)[1]
            self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(count_rows(self.store), 20_000)
        self.assertEqual(integrity(self.store), "ok")

    def test_the_same_files_imported_by_several_at_once_are_there_once(self):
        for part in range(10):
            gemm_file(self.folder / f"in/{part}/gemm_perf.txt", 2000, f"1.{part}")
        self.assertEqual(assay("import", gemm_file(self.folder / "first/gemm_perf.txt", 1, "0"),
                               "--store", self.store).returncode, 0)
        running = [subprocess.Popen([ASSAY, "store", "import", self.folder / "in", "--store",
                                     self.store], stdout=subprocess.DEVNULL) for _ in range(4)]
        self.assertEqual([process.wait(120) for process in running], [0] * 4)
        self.assertEqual(count_rows(self.store), 20_001)

    def test_a_killed_import_is_done_whole_the_next_time(self):
        large = gemm_file(self.folder / "large/gemm_perf.txt", 200_000)
        process = subprocess.Popen([ASSAY, "store", "import", large, "--store", self.store],
                                   stdout=subprocess.DEVNULL)
        while not self.store.exists():
            time.sleep(0.01)
        time.sleep(0.15)
        process.send_signal(signal.SIGKILL)
        process.wait()
        again = assay("import", large, "--store", self.store)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(count_rows(self.store), 200_000)
        self.assertEqual(integrity(self.store), "ok")

    def test_reading_from_a_read_only_folder(self):
        small = gemm_file(self.folder / "in/gemm_perf.txt", 10)
        self.assertEqual(assay("import", small, "--store", self.store).returncode, 0)
        self.store.chmod(0o444)
        self.folder.chmod(0o555)
        # The permissions of a folder do not bind root.
        other = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
        try:
            listed = assay("list", "--store", self.store, "--format", "csv", **other)
            refused = assay("import", small, "--store", self.store, **other)
        except PermissionError:
            self.skipTest("another user may not run this program")
        finally:
            self.folder.chmod(0o755)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("gemm_perf,VLLM,1.0,NVIDIA H200,gemm,10,", listed.stdout)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("may not be written", refused.stderr)
        self.assertEqual([p.name for p in self.folder.iterdir() if p.is_file()], ["test.db"])

    def test_output_folder_that_cannot_be_made(self):
        small = gemm_file(self.folder / "in/gemm_perf.txt", 10)
        self.assertEqual(assay("import", small, "--store", self.store).returncode, 0)
        done = assay("export", "--store", self.store, "-o", small / "below")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot make the folder", done.stderr)


if __name__ == "__main__":
    unittest.main()
