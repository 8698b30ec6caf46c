#!/usr/bin/env python3
"""tuner_gain.py without GPUs: its samples, its file and its summary. With the environment variable
TUNER it also talks to the plugin.
"""
import contextlib
import io
import os
import pathlib
import random
import tempfile
import unittest

import tuner_gain

SOURCE = pathlib.Path(__file__).resolve().parent.parent
SAMPLE = SOURCE / "samples/allreduce-h200/nccl/tuner_gain.csv"
TABLE = SAMPLE.parent / "gen_heuristic_code/assay_nccl_tuner.conf"


class FakeRank:
    """A rank whose calls take these times; the other ranks are slower by a microsecond."""

    def __init__(self, own=10.0, table=8.0, right=True, answered=1):
        self.times = {"own": own, "table": table}
        self.right = right
        self.answered = {"own": 0, "table": answered}
        self.halves = []

    def prepare(self, half):
        seen = tuner_gain.Seen(answered=self.answered[half], ran=1, alike=True, algorithm=b"RING",
                               protocol=b"LL", channels=8 if half == "table" else 2)
        return tuner_gain.Facts(self.right, seen)

    def sample(self, half):
        self.halves.append(half)
        if len(self.halves) <= 2:
            return 1000.0  # before it is warm
        return self.times[half]

    def slowest(self, times):
        return [time + 1 for time in times]

    def all_agree(self, is_so):
        return is_so


def measured(rank, samples=8):
    return tuner_gain.measure_call(rank, samples, random.Random(1))


class Calls(unittest.TestCase):
    def test_halves_alternate_and_the_slowest_rank_counts(self):
        rank = FakeRank()
        row = measured(rank)
        self.assertEqual(row, {"own ran": "RING_LL_2", "table ran": "RING_LL_8", "answered": 1,
                               "own (us)": 11.0, "table (us)": 9.0, "gain (%)": 22.22, "result": "ok"})
        pairs = list(zip(rank.halves[::2], rank.halves[1::2]))
        self.assertEqual(len(pairs), 9)
        self.assertTrue(all(set(pair) == {"own", "table"} for pair in pairs))
        self.assertEqual(len(set(pairs)), 2, "neither half always comes first")

    def test_wrong_results_have_no_time(self):
        rank = FakeRank(right=False)
        row = measured(rank)
        self.assertEqual((row["own (us)"], row["table (us)"], row["gain (%)"], row["result"]),
                         ("", "", "", "wrong"))
        self.assertEqual(rank.halves, [])

    def test_what_ran_is_told_only_where_it_is_known(self):
        seen = tuner_gain.Seen(ran=2, alike=False, algorithm=b"RING", protocol=b"LL", channels=2)
        self.assertEqual(tuner_gain.ran_text(seen), "")
        self.assertEqual(tuner_gain.ran_text(tuner_gain.Seen()), "")

    def test_samples_are_neither_too_short_nor_too_long(self):
        self.assertEqual([tuner_gain.calls_of_sample(us) for us in (0.0, 20.0, 1e6)], [100, 20, 3])

    def test_sizes(self):
        self.assertEqual(tuner_gain.sizes_between(4096, 16384), [4096, 6144, 8192, 12288, 16384])
        self.assertEqual(len(tuner_gain.sizes_between(4 << 10, 128 << 20)), 31)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "gain.csv"

    def said(self, *arguments):
        """What it says before it ends with a failure."""
        errors = io.StringIO()
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(errors):
            tuner_gain.read_rows(*arguments) if arguments and isinstance(arguments[0], pathlib.Path) \
                else tuner_gain.parse(list(arguments))
        return errors.getvalue() + str(ended.exception.code)

    def test_rows_read_back(self):
        tuner_gain.begin_file(self.file, False)
        for number, rank in enumerate((FakeRank(), FakeRank(answered=0), FakeRank(right=False))):
            tuner_gain.append(self.file, {"world_size": 4, "launch": "graph", "op": "allreduce",
                                          "size": 4096 << number, **measured(rank)})
        rows = tuner_gain.read_rows(self.file)
        self.assertEqual([row["gain (%)"] for row in rows], [22.22, 22.22, None])
        self.assertEqual(tuner_gain.summary(rows)[2:],
                         ["| graph | 4 | allreduce | 1 of 3 | 22.2 % | 22.2 % | 22.2 % (4 KiB: 11.0 → 9.0 µs) |",
                          "graph: 1 calls without an answer differ by 22.2 to 22.2 % between the halves, "
                          "which is the noise", "1 calls gave wrong results"])

    def test_answers_that_a_later_table_does_not_give_are_left_out(self):
        table = self.file.with_name("table.conf")
        table.write_text("#! nccl 2.28\nallreduce,4096,8191,ring,ll,4,1,4,1,1\n", encoding="utf-8")
        tuner_gain.begin_file(self.file, False)
        for size in (4096, 8192):
            tuner_gain.append(self.file, {"world_size": 4, "launch": "graph", "op": "allreduce",
                                          "size": size, **measured(FakeRank())})
        rows = tuner_gain.read_rows(self.file)
        tuner_gain.leave_out_others(rows, tuner_gain.read_table(table))
        self.assertEqual([(row["answered"] > 0, row["gain (%)"]) for row in rows],
                         [(True, 22.22), (False, None)])
        table.write_text("allreduce,4096\n", encoding="utf-8")
        with self.assertRaisesRegex(SystemExit, "line 1: not a row of a table"):
            tuner_gain.read_table(table)
        table.write_bytes(b"\xff\xfe\x00")
        for read in (tuner_gain.read_table, tuner_gain.read_rows):
            with self.assertRaisesRegex(SystemExit, "is not text"):
                read(table)

    def test_nothing_is_replaced_in_silence(self):
        tuner_gain.begin_file(self.file, False)
        with self.assertRaisesRegex(SystemExit, "is there already"):
            tuner_gain.begin_file(self.file, False)
        tuner_gain.begin_file(self.file, True)

    def test_the_sample_says_what_the_documentation_says(self):
        rows = tuner_gain.read_rows(SAMPLE)
        tuner_gain.leave_out_others(rows, tuner_gain.read_table(TABLE))
        lines = tuner_gain.summary(rows)
        document = (SOURCE / "docs/performance.md").read_text(encoding="utf-8")
        names = {"allreduce": "all-reduce", "allgather": "all-gather",
                 "reducescatter": "reduce-scatter", "broadcast": "broadcast"}
        checked = 0
        for line in lines:
            cells = [cell.strip() for cell in line.split("|")][1:-1]
            if not cells or cells[0] != "graph":
                continue
            shown = next(row for row in document.splitlines()
                         if row.startswith(f"| {names[cells[2]]}, {cells[1]} GPUs | {cells[3]} |"))
            self.assertIn(f"| {cells[4]} | {cells[5]} |", shown)
            checked += 1
        self.assertEqual(checked, 8)

    def test_wrong_files_and_usage(self):
        self.assertIn("cannot read /nowhere.csv: No such file",
                      self.said(pathlib.Path("/nowhere.csv")))
        self.file.write_text("a,b\n", encoding="utf-8")
        self.assertIn("no header of this program's files", self.said(self.file))
        self.file.write_text(",".join(tuner_gain.COLUMNS) + "\n4,graph\n", encoding="utf-8")
        self.assertIn("line 2: not a row", self.said(self.file))
        self.assertIn("name the TABLE", self.said())
        self.assertIn("is not a file", self.said("/nowhere.conf", "-o", "x.csv"))
        self.assertIn("'reduce' is none of", self.said("t", "-o", "x", "--collectives", "reduce"))


@unittest.skipUnless(os.environ.get("TUNER"), "TUNER names no plugin")
class Plugin(unittest.TestCase):
    def test_it_takes_orders_and_tells_what_it_saw(self):
        tuner = tuner_gain.Tuner(os.environ["TUNER"])
        for half in tuner_gain.HALVES:
            tuner.order(half, watch=True)
            seen = tuner.seen()
            self.assertEqual((seen.asked, seen.answered, seen.ignored, seen.ran, seen.channels),
                             (0, 0, 0, 0, 0))
            self.assertTrue(seen.alike)
            self.assertEqual(tuner_gain.ran_text(seen), "")


if __name__ == "__main__":
    unittest.main()
