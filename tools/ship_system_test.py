#!/usr/bin/env python3
"""Proves that ship_system.py ships what it must, and nothing else.

usage: ASSAY=PROGRAM ship_system_test.py
exit status: 0 passed, 77 skipped: there is no zstd
"""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).with_name("ship_system.py")
NAMES = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency"


def row(m, latency):
    return f"assay,0.1.0,NVIDIA H200,gemm,cublaslt,bfloat16,{m},4096,4096,{latency}"


class ShipSystemTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-ship-test-"))
        self.systems = self.folder / "systems"
        self.systems.mkdir()
        (self.systems / "README.md").write_text("# Systems\n\nAll of them.\n")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def store(self, rows):
        """A store of these rows, whose facts name a machine."""
        table, store = self.folder / "gemm_perf.txt", self.folder / "my perf.db"
        table.write_text("\n".join([NAMES, *rows]) + "\n")
        subprocess.run([os.environ["ASSAY"], "store", "import", table, "--store", store, "-q"],
                       check=True)
        facts = {"host": "node17", "GPU uuids": "GPU-1234", "kernel": "6.1.0-42-own", "driver": "580",
                 "made by": "assay 0.1.0", "command line": "assay collect -o /home/me/perf --x 5"}
        database = sqlite3.connect(store)
        database.execute("DELETE FROM case_record")
        database.execute("UPDATE run SET facts = ?, device = 'NVIDIA H200'", (json.dumps(facts),))
        database.execute("INSERT INTO case_record(run, operator, name, outcome, reason, finished_at)"
                         " VALUES(1, 'gemm', 'x', 'failed', 'no /usr/lib/x.so at 5 GB/s', '')")
        database.commit()
        database.close()
        return store

    def ship(self, store, name="my_gpu"):
        return subprocess.run([sys.executable, TOOL, store, name, "--systems", self.systems],
                              capture_output=True, text=True, check=False)

    def shipped(self):
        unpacked = self.folder / "unpacked.db"
        subprocess.run(["zstd", "-qdf", self.systems / "my_gpu.db.zst", "-o", unpacked], check=True)
        return unpacked

    def test_the_rows_travel_and_the_machine_does_not(self):
        store = self.store([row(1, 0.02), row(64, 0.03)])
        before = store.read_bytes()
        done = self.ship(store)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(store.read_bytes(), before)
        shipped = self.shipped()
        database = sqlite3.connect(shipped)
        self.assertEqual(database.execute("SELECT m, latency FROM gemm_perf").fetchall(),
                         [(1, 0.02), (64, 0.03)])
        facts = json.loads(database.execute("SELECT facts FROM run").fetchone()[0])
        reason = database.execute("SELECT reason FROM case_record").fetchone()[0]
        database.close()
        self.assertEqual(facts, {"kernel": "6.1.0", "driver": "580", "made by": "assay 0.1.0",
                                 "command line": "assay collect -o perf --x 5"})
        self.assertEqual(reason, "no x.so at 5 GB/s")
        for secret in (b"node17", b"GPU-1234", b"/home/me", b"-own"):
            self.assertNotIn(secret, shipped.read_bytes())
        self.assertIn("my_gpu: NVIDIA H200", (self.systems / "my_gpu.yaml").read_text())

    def test_again_gives_the_same_files(self):
        store = self.store([row(1, 0.02)])
        contents = []
        for _ in range(2):
            self.assertEqual(self.ship(store).returncode, 0)
            contents.append({path.name: path.read_bytes() for path in self.systems.iterdir()})
        self.assertEqual(contents[0], contents[1])
        self.assertEqual(set(contents[0]), {"README.md", "my_gpu.db.zst", "my_gpu.yaml"})

    def test_the_readme_has_a_part_for_each_system(self):
        store = self.store([row(1, 0.02)])
        self.ship(store)
        self.ship(store, "other_gpu")
        self.ship(self.store([row(1, 0.02), row(3, 0.02)]))
        readme = (self.systems / "README.md").read_text()
        self.assertTrue(readme.startswith("# Systems\n\nAll of them.\n\n<!-- my_gpu"))
        self.assertEqual(readme.count("\n## my_gpu: NVIDIA H200, by assay 0.1.0\n"), 1)
        self.assertEqual(readme.count("\n## other_gpu: "), 1)
        self.assertIn("| `gemm_perf` | 2 |", readme.partition("## other_gpu")[0])
        self.assertIn("| driver | 580 |", readme)

    def test_a_store_with_impossible_rows_is_refused(self):
        done = self.ship(self.store([row(4096, 0.00001)]))
        self.assertEqual(done.returncode, 1)
        self.assertIn("faster than the roofline", done.stderr)
        self.assertEqual([path.name for path in self.systems.iterdir()], ["README.md"])

    def test_what_is_no_store_or_no_name_is_refused(self):
        self.assertIn("no such store", self.ship(self.folder / "none.db").stderr)
        self.assertIn("lower-case", self.ship(self.store([row(1, 0.02)]), "My GPU").stderr)
        self.assertEqual([path.name for path in self.systems.iterdir()], ["README.md"])


if __name__ == "__main__":
    if shutil.which("zstd") is None:
        print("skipped: there is no zstd")
        sys.exit(77)
    unittest.main()
