#!/usr/bin/env python3
"""Proves that a reduced trace tells 'assay trace' what the whole one tells."""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import reduce_trace

SAMPLES = pathlib.Path(__file__).resolve().parent.parent / "samples/traces-2gpu"
ASSAY = os.environ.get("ASSAY", "")

# Sums over the same values in another order.
SIGNIFICANT_DIGITS = 12
UNCHANGED_BY_RANK = ("gpu_timeline", "gpu_timeline_steps", "ops_summary_by_category",
                     "ops_summary", "short_kernels_summary", "kernel_summary", "coll_analysis",
                     "excluded_work", "warnings")
# Operators without their numbers in the file.
UNCHANGED_BUT_NUMBERS = {"ops_unique_args": "ex_UID"}


def book(path):
    """Sheet → rows, as a set would see them: the order of events in the file is not kept."""
    def cell(value):
        return f"{value:.{SIGNIFICANT_DIGITS}g}" if isinstance(value, float) else str(value)

    result = {}
    for table in json.loads(path.read_text(encoding="utf-8"))["tables"]:
        left_out = UNCHANGED_BUT_NUMBERS.get(table["name"])
        kept = [i for i, column in enumerate(table["columns"]) if column["name"] != left_out]
        result[table["name"]] = sorted([cell(row[i]) for i in kept] for row in table["rows"])
    return result


def span(name, category, start, duration, thread=1, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": start,
            "dur": duration, "args": args}


def reduced(*events, with_operators=True, **members):
    document = {"traceEvents": list(events), **members}
    return json.loads(reduce_trace.reduced(document, with_operators))


def names(document, category):
    return [event["name"] for event in document["traceEvents"] if event.get("cat") == category]


class ReductionTest(unittest.TestCase):
    LAUNCH = (
        span("aten::linear", "cpu_op", 10.0, 9.0),
        span("aten::mm", "cpu_op", 11.0, 5.0, **{"Input Dims": [[2, 2]], "Ev Idx": 7}),
        span("cudaLaunchKernel", "cuda_runtime", 12.0, 1.0, correlation=900, cbid=211),
        span("gemm", "kernel", 20.125, 3.5, correlation=900, grid=[1, 1, 1], queued=0),
    )

    def test_a_kernel_keeps_its_call_and_the_operator_that_made_it(self):
        result = reduced(*self.LAUNCH)
        self.assertEqual(names(result, "cpu_op"), ["aten::mm"])
        self.assertEqual(names(result, "cuda_runtime"), ["cudaLaunchKernel"])
        call, kernel = result["traceEvents"][-2:]
        self.assertEqual(call["args"], {"correlation": 1})
        self.assertEqual(kernel, span("gemm", "kernel", 20.125, 3.5, correlation=1, grid=[1, 1, 1]))

    def test_operators_can_be_left_out(self):
        result = reduced(*self.LAUNCH, with_operators=False)
        self.assertEqual(names(result, "cpu_op"), [])
        self.assertEqual(names(result, "kernel"), ["gemm"])

    def test_an_operator_named_execute_leaves_the_one_around_it(self):
        result = reduced(*self.LAUNCH, span("execute", "cpu_op", 11.5, 3.0))
        self.assertEqual(names(result, "cpu_op"), ["aten::mm", "execute"])

    def test_calls_and_operators_without_gpu_work_go(self):
        result = reduced(*self.LAUNCH, span("cudaEventQuery", "cuda_runtime", 30.0, 1.0,
                                            correlation=901),
                         span("aten::view", "cpu_op", 31.0, 1.0))
        self.assertEqual(names(result, "cuda_runtime"), ["cudaLaunchKernel"])
        self.assertEqual(names(result, "cpu_op"), ["aten::mm"])

    def test_work_leaked_from_before_the_profile_stays(self):
        result = reduced(*self.LAUNCH, span("leaked", "kernel", 1.0, 1.0, correlation=5))
        self.assertEqual(names(result, "kernel"), ["gemm", "leaked"])

    def test_older_rocm_links_by_external_id(self):
        result = reduced(
            span("hipLaunchKernel", "cuda_runtime", 12.0, 1.0, **{"External id": 31}),
            span("gemm", "kernel", 20.0, 3.0, **{"External id": 31}))
        self.assertEqual([event["args"] for event in result["traceEvents"]],
                         [{"External id": 1}, {"External id": 1}])

    def test_only_known_members_of_the_document_stay(self):
        result = reduced(metadata={"HOME": "/home/someone"}, traceName="/home/someone/trace.json",
                         distributedInfo={"rank": 3}, baseTimeNanoseconds=5)
        self.assertEqual(result, {"distributedInfo": {"rank": 3}, "baseTimeNanoseconds": 5,
                                  "traceEvents": []})

    def test_times_stay_to_the_nanosecond(self):
        times = '"ts":4364916599919.679,"dur":0.001'
        text = f'{{"traceEvents":[{{"ph":"X","cat":"kernel","name":"k",{times}}}]}}'
        self.assertIn(times, reduce_trace.reduced(json.loads(text)))


class SampleTest(unittest.TestCase):
    """On real traces, through the program."""

    @classmethod
    def setUpClass(cls):
        if not ASSAY:
            raise unittest.SkipTest("ASSAY does not name the program")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run([sys.executable, reduce_trace.__file__, SAMPLES, cls.folder / "reduced"],
                       check=True, capture_output=True)

    def books(self, command, run, name):
        """The same book of the whole and of the reduced run."""
        result = []
        for kind, traces in (("whole", SAMPLES / run), ("small", self.folder / "reduced" / run)):
            out = self.folder / kind / command / run
            subprocess.run([ASSAY, "trace", command, traces, "-o", out, "--write", "json", "-q"],
                           check=True, capture_output=True)
            result.append(book(out / name))
        return result

    def test_the_reports_of_each_rank(self):
        for run in ("ctas_default", "ctas_16"):
            for rank in (0, 1):
                whole, small = self.books("report", run, f"rank{rank}_individual_report.json")
                for sheet in (*UNCHANGED_BY_RANK, *UNCHANGED_BUT_NUMBERS):
                    with self.subTest(run=run, rank=rank, sheet=sheet):
                        self.assertTrue(whole[sheet] or sheet in ("warnings", "excluded_work"))
                        self.assertEqual(whole[sheet], small[sheet])

    def test_the_report_of_the_communication(self):
        for run in ("ctas_default", "ctas_16"):
            whole, small = self.books("collectives", run, "collective_all_ranks.json")
            self.assertGreater(len(whole["nccl_implicit_sync"]), 0)
            self.assertEqual(whole, small)

    def test_it_is_much_smaller_and_always_the_same(self):
        whole = SAMPLES / "ctas_16/torch_profiler/rank0/trace.json.gz"
        small = self.folder / "reduced" / whole.relative_to(SAMPLES)
        self.assertLess(small.stat().st_size, whole.stat().st_size / 5)
        again = reduce_trace.reduced(json.loads(gzip.decompress(whole.read_bytes())))
        reduce_trace.write(self.folder / "again.gz", again)
        self.assertEqual((self.folder / "again.gz").read_bytes(), small.read_bytes())


if __name__ == "__main__":
    unittest.main()
