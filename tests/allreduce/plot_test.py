#!/usr/bin/env python3
"""assay allreduce plot, as a user runs it: which files appear, and what is in them.

usage: ASSAY=PROGRAM plot_test.py      exit status: 0 good, 77 skipped, else failed
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ASSAY = os.environ["ASSAY"]
DATA = pathlib.Path(__file__).resolve().parent.parent / "golden/allreduce/plot/in/data"
KINDS = ("heatmap", "best_strategy", "strategy_difference_heatmap", "latency", "regret")


class Plot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-plot-")
        self.addCleanup(folder.cleanup)
        self.data = pathlib.Path(folder.name) / "data"
        shutil.copytree(DATA, self.data)

    def plot(self, *arguments, **environment):
        return subprocess.run([ASSAY, "allreduce", "plot", *arguments], cwd=self.data.parent,
                              env={**os.environ, **environment}, capture_output=True, text=True,
                              check=False)

    def test_requirement_paths(self):
        done = self.plot()  # the folder is "data" by itself
        self.assertEqual((done.returncode, done.stderr.count("warning")), (0, 1), done.stderr)
        written = {str(p.relative_to(self.data / "viz"))
                   for p in (self.data / "viz").rglob("*") if p.is_file()}
        names = ["NONE/benchmark.tp2.sm90", "NONE/benchmark.tp4.sm90",
                 "RESIDUAL_RMS_NORM/benchmark.tp4.sm90"]
        self.assertEqual(written, {"index.html"} | {
            f"{name}_{kind}.{end}" for name in names for kind in KINDS for end in ("png", "svg")})
        for path in (self.data / "viz").rglob("*.png"):
            content = path.read_bytes()
            self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
            self.assertGreater(len(content), 10_000, path)

    def test_svg_says_what_it_shows(self):
        self.plot("--fusion", "NONE", "--write", "svg", "-o", "figures", "--compare", "data")
        text = {kind: (self.data.parent / f"figures/NONE/benchmark.tp4.sm90_{kind}.svg").read_text()
                for kind in (*KINDS, "table_difference")}
        self.assertIn("Time (μs)", text["heatmap"])
        for word in ("ONESHOT", "TWOSHOT", "NCCL", "AUTO", "2880", "num_tokens", "hidden_size"):
            self.assertIn(word, text["heatmap"])
        self.assertIn("9 cells, 75.0 %", text["best_strategy"])
        self.assertNotIn("AUTO", text["best_strategy"])
        self.assertIn("Difference (%)", text["strategy_difference_heatmap"])
        self.assertIn("two-shot link limit, 351 GB/s usable", text["latency"])
        self.assertIn("NCCL always", text["regret"])
        self.assertIn("0 of 12 cells differ", text["table_difference"])

    def test_two_folders_of_benchmarks(self):
        other = self.data.parent / "other"
        other.mkdir()
        table = (self.data / "benchmark.tp4.sm90.csv").read_text().replace("ONESHOT", "NCCL")
        (other / "benchmark.tp4.sm90.csv").write_text(table.replace(",NCCL,NONE,allreduce,15.",
                                                                    ",AUTO,NONE,allreduce,15."))
        done = self.plot("--fusion", "NONE", "--write", "html", "--compare", "other",
                         "--format", "csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line for line in done.stdout.splitlines() if ",ONESHOT,NCCL," in line]
        self.assertTrue(rows)
        costs = [float(row.split(",")[-1]) for row in rows]
        self.assertGreater(min(costs), 0)
        self.assertEqual(costs, sorted(costs, reverse=True))

    def test_without_gnuplot(self):
        done = self.plot(PATH="/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("apt-get install gnuplot-nox", done.stderr)
        self.assertFalse((self.data / "viz/index.html").exists())
        self.assertEqual(self.plot("--write", "html", PATH="/nowhere").returncode, 0)
        self.assertTrue((self.data / "viz/index.html").exists())


if __name__ == "__main__":
    if not shutil.which("gnuplot"):
        print("no gnuplot here")
        sys.exit(77)
    unittest.main()
