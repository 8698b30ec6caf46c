#!/usr/bin/env python3
"""allreduce_tables.py: what it makes of small files, and that docs/performance.md has the tables of the samples."""
import io
import contextlib
import pathlib
import tempfile
import unittest

import allreduce_tables

SOURCE = pathlib.Path(__file__).resolve().parent.parent
HEADER = "world_size,dtype,size,num_tokens,hidden_size,strategy,fusion,op,time (us),low (us),high (us),outcome\n"


def row(strategy, time, fusion="NONE", tokens=1, hidden=4096, outcome="ok"):
    return (f"4,bfloat16,{tokens * hidden},{tokens},{hidden},{strategy},{fusion},allreduce,{time},{time - 0.1:.2f},"
            f"{time + 0.1:.2f},{outcome}\n")


class Tables(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def lines_of(self, *rows):
        (self.folder / "benchmark.tp4.sm90.csv").write_text(HEADER + "".join(rows))
        return list(allreduce_tables.tables(self.folder))

    def test_takes_the_best_of_our_strategies(self):
        lines = self.lines_of(row("ONESHOT", 3.0), row("TWOSHOT", 2.5), row("NCCL", 2.0),
                              row("ONESHOT", 3.25, "RESIDUAL_RMS_NORM"), row("ONESHOT", 1.0, hidden=128))
        self.assertIn("| 8 KiB | 2.9 | 2.50 | TWOSHOT | 2.40 … 2.60 | 0.07 / 0.04 | 2.00 | – / – | 3.25 (+0.75) | – |", lines)

    def test_marks_what_misses_and_leaves_out_what_failed(self):
        lines = self.lines_of(row("ONESHOT", 3.0), row("TWOSHOT", 2.5, outcome="failed"))
        self.assertTrue(any("| **3.00** | ONESHOT |" in line for line in lines), lines)

    def test_refuses_a_folder_without_benchmarks(self):
        with self.assertRaisesRegex(SystemExit, "no benchmark"):
            list(allreduce_tables.tables(self.folder))

    def test_says_that_a_file_is_cut_off(self):
        (self.folder / "benchmark.tp4.sm90.csv").write_text(HEADER + row("ONESHOT", 3.0)[:-12])
        with self.assertRaisesRegex(SystemExit, "not whole"):
            allreduce_tables.main([str(self.folder)])
        (self.folder / "benchmark.tp4.sm90.csv").write_text("a,b\n1,2\n")
        with self.assertRaisesRegex(SystemExit, "not whole"):
            allreduce_tables.main([str(self.folder)])

    def test_the_document_has_what_the_samples_say(self):
        document = (SOURCE / "docs/performance.md").read_text().splitlines()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            allreduce_tables.main([])
        lines = [line for line in printed.getvalue().splitlines() if line.startswith("|")]
        self.assertGreater(len(lines), 60)
        self.assertEqual([line for line in lines if line not in document], [])


if __name__ == "__main__":
    unittest.main()
