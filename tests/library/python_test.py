#!/usr/bin/env python3
"""The Python package over libassay, as its users have it. Runs with Python alone; what needs NumPy or
pandas is left out where they are not.

usage: ASSAY_LIBRARY=libassay.so PYTHONPATH=python python_test.py
"""
import ctypes
import gc
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import assay

SOURCE = pathlib.Path(os.environ.get("ASSAY_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
TRACE = SOURCE / "samples/traces-2gpu"
RUNS = SOURCE / "samples/sweep-nccl-ctas"
RECORDING = SOURCE / "samples/goal-4gpu"


def without(module):
    return unittest.skipUnless(importlib.util.find_spec(module), f"no {module} here")


def gemm_file(folder):
    path = pathlib.Path(folder) / "gemm_perf.csv"
    lines = ["framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency"]
    for dtype, ms in (("bfloat16", 0.2), ("fp8", 0.1)):
        lines += [f"a,1,d,gemm,source,{dtype},{2**i},512,1024,{ms * 2**i}" for i in range(7)]
    path.write_text("\n".join(lines) + "\n")
    return path


class Importing(unittest.TestCase):
    def test_takes_little(self):
        """Within one process each, so that a busy machine delays both."""
        script = ("import ctypes, resource, sys, time; sys.path.insert(0, sys.argv[1]);"
                  "before = resource.getrusage(resource.RUSAGE_SELF);"
                  "import assay;"
                  "after = resource.getrusage(resource.RUSAGE_SELF);"
                  "print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,"
                  "after.ru_maxrss - before.ru_maxrss)")
        folder = str(pathlib.Path(assay.__file__).resolve().parents[1])
        best = min(tuple(map(float, subprocess.run([sys.executable, "-c", script, folder], check=True,
                                                   capture_output=True, text=True).stdout.split()))
                   for _ in range(5))
        self.assertLessEqual(best[0], 0.030)
        self.assertLessEqual(best[1], 4096)

    def test_names(self):
        self.assertRegex(assay.version(), r"^\d+\.\d+\.\d+$")
        self.assertIn("plan", dir(assay))
        with self.assertRaisesRegex(AttributeError, "its commands are"):
            assay.nothing  # pylint: disable=pointless-statement

    def test_help_reads_like_the_manual(self):
        import pydoc
        page = pydoc.plain(pydoc.render_doc(assay.goal.generate))
        self.assertIn("replicas", page)
        self.assertIn("Returns assay.Result", page)
        self.assertIn("search", assay.plan.__doc__)


class Commands(unittest.TestCase):
    def test_every_option_has_a_keyword(self):
        import inspect
        parameters = inspect.signature(assay.trace.compare).parameters
        self.assertIn("gpus_per_node", parameters)
        self.assertIs(parameters["fail_on_regression"].default, False)

    def test_wrong_usage(self):
        with self.assertRaisesRegex(assay.UsageError, "did you mean '--replicas'"):
            assay.goal.generate(str(RECORDING), replica=2)
        with self.assertRaises(ValueError):
            assay.run("store", "qery")

    def test_a_missing_file(self):
        with self.assertRaisesRegex(assay.AssayError, "/nowhere"):
            assay.trace("/nowhere").sheets  # pylint: disable=expression-not-assigned

    def test_text(self):
        self.assertIn("assay", assay.run("version").text)


class Collecting(unittest.TestCase):
    def test_a_function_of_ones_own(self):
        timing = assay.collect.measure(lambda: time.sleep(0.001), device="cpu")
        self.assertGreaterEqual(timing["median_ms"], 1)
        self.assertTrue(callable(assay.collect.helper.log_perf))


class Figures(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.rows = [{"world_size": 2, "dtype": "bfloat16", "size": 256 * tokens, "num_tokens": tokens,
                      "hidden_size": 128, "strategy": strategy, "fusion": "NONE", "time (us)": us}
                     for tokens, strategy, us in ((1, "NCCL", 10), (1, "ONESHOT", 4),
                                                  (2, "NCCL", 10), (2, "ONESHOT", 20))]
        self.file = self.folder / "times.csv"
        self.file.write_text("\n".join([",".join(self.rows[0])] + [
            ",".join(map(str, row.values())) for row in self.rows]))

    def test_of_a_file(self):
        assay.allreduce.visualize_2d_heatmap(self.file, fusion_op="NONE",
                                             save_path=self.folder / "heatmap.png")
        assay.allreduce.visualize_strategy_difference_heatmaps(str(self.file), "NONE",
                                                               self.folder / "diff.png")
        best = assay.allreduce.visualize_2d_best_strategy(self.file, save_path=self.folder / "best.svg")
        self.assertEqual(best.to_dict(), {"num_tokens": [1, 2], "hidden_size": [128, 128],
                                          "best_strategy": ["ONESHOT", "NCCL"], "best_time": [4, 10]})
        for name in ("heatmap.png", "diff.png", "best.svg"):
            self.assertGreater((self.folder / name).stat().st_size, 1000)

    def test_wrong_arguments(self):
        with self.assertRaisesRegex(assay.UsageError, "there is no fusion"):
            assay.allreduce.visualize_2d_heatmap(self.file, "NO", self.folder / "heatmap.png")
        with self.assertRaisesRegex(assay.UsageError, "save_path must not be null"):
            assay.allreduce.visualize_2d_heatmap(self.file)
        with self.assertRaisesRegex(TypeError, "not int"):
            assay.allreduce.visualize_2d_heatmap(3, save_path=self.folder / "heatmap.png")

    @without("pandas")
    def test_of_a_data_frame(self):
        import pandas
        best = assay.allreduce.visualize_2d_best_strategy(pandas.DataFrame(self.rows), "NONE",
                                                          self.folder / "best.png")
        self.assertEqual(best.to_list("best_strategy"), ["ONESHOT", "NCCL"])


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = gemm_file(folder.name)
        self.store = assay.store(self.file)

    def test_one_question(self):
        answer = self.store.gemm(m=64, n=512, k=1024, dtype="fp8")
        self.assertEqual(answer.latency, 6.4)
        self.assertEqual(answer.method, "exact")
        self.assertIsNone(answer.uncertainty)
        self.assertEqual(float(answer), 6.4)

    def test_a_refused_question_is_an_exception(self):
        with self.assertRaisesRegex(assay.AssayError, "was measured from 1 to 64"):
            self.store.gemm(m=1000, n=512, k=1024, dtype="fp8")
        self.assertGreater(
            self.store.gemm(m=1000, n=512, k=1024, dtype="fp8", extrapolate=True).latency, 64)

    def test_columns_of_questions(self):
        answers = self.store.gemm(m=[64, 1000], n=512, k=1024, dtype=["bfloat16", "fp8"])
        self.assertEqual(len(answers), 2)
        self.assertEqual(answers.to_list("latency"), [12.8, None])
        self.assertIn("was measured", answers.to_list("refused")[1])
        self.assertEqual(answers.unit("latency"), "ms")
        self.assertEqual(answers.metadata("latency")["better"], "lower")
        self.assertEqual(answers.rows()[0]["method"], "exact")
        self.assertIn("12.8", answers._repr_html_())

    def test_no_questions(self):
        self.assertEqual(len(self.store.gemm(m=[], n=512, k=1024, dtype="fp8")), 0)

    def test_bad_questions(self):
        for columns, error in [({"m": [1, 2], "n": [1, 2, 3]}, "column 'n' has 3 values"),
                               ({"mm": 1}, "no column 'mm'"), ({"n": 512}, "needs m"),
                               ({"m": "many"}, "number of at least 0")]:
            with self.assertRaisesRegex(assay.AssayError, error):
                self.store.gemm(**columns)

    def test_a_closed_store(self):
        self.store.close()
        with self.assertRaisesRegex(assay.UsageError, "is closed"):
            self.store.gemm(m=1)

    def test_a_foreign_file(self):
        path = self.file.with_name("moe_perf.parquet")
        path.write_bytes(b"\x89PNG\r\n")
        with self.assertRaisesRegex(assay.AssayError, "moe_perf.parquet"):
            assay.store(path).moe(num_tokens=1)

    def test_what_can_be_asked(self):
        columns = self.store.columns("gemm").rows()
        kinds = {row["column"]: row["kind"] for row in columns}
        self.assertEqual(kinds["m"], "size")
        self.assertEqual(kinds["gemm_dtype"], "exact")

    def test_a_surface(self):
        surface = self.store.surface("gemm", free="m", dtype="fp8")
        self.store.close()
        self.assertEqual(surface(64), 6.4)
        self.assertNotEqual(surface(0), surface(0))
        with self.assertRaisesRegex(assay.UsageError, "takes m"):
            surface(1, 2)

    @without("numpy")
    def test_numpy(self):
        import numpy
        m = numpy.array([64, 32, 1000])
        answers = self.store.gemm(m=m, n=512, k=1024, dtype="fp8")
        latency = answers["latency"]
        numpy.testing.assert_array_equal(latency, [6.4, 3.2, numpy.nan])
        self.assertFalse(latency.flags.writeable)
        address = latency.ctypes.data
        self.assertEqual(answers["latency"].ctypes.data, address)
        del answers
        gc.collect()
        self.assertEqual(latency[0], 6.4)
        surface = self.store.surface("gemm", free="m", dtype="fp8")
        numpy.testing.assert_array_equal(surface(m), [6.4, 3.2, numpy.nan])

    @without("pandas")
    def test_pandas(self):
        frame = self.store.gemm(m=[64, 32], n=512, k=1024, dtype="fp8").to_pandas()
        self.assertEqual(list(frame["latency"]), [6.4, 3.2])
        self.assertEqual(frame.attrs["units"]["latency"], "ms")

    @without("pyarrow")
    def test_pyarrow(self):
        import pyarrow
        table = pyarrow.table(self.store.gemm(m=[64, 32], n=512, k=1024, dtype="fp8"))
        table.validate(full=True)
        self.assertEqual(table["latency"].to_pylist(), [6.4, 3.2])
        self.assertEqual(table["method"].to_pylist(), ["exact", "exact"])

    @without("polars")
    def test_polars(self):
        import polars
        frame = polars.DataFrame(self.store.gemm(m=[64, 32], n=512, k=1024, dtype="fp8"))
        self.assertEqual(frame["latency"].to_list(), [6.4, 3.2])

    @without("duckdb")
    def test_duckdb(self):
        import duckdb
        answers = self.store.gemm(m=[64, 32], n=512, k=1024, dtype="fp8")  # pylint: disable=unused-variable
        self.assertEqual(duckdb.sql("select sum(latency) from answers").fetchone()[0], 9.6)

    def test_a_capsule_that_nobody_takes(self):
        table = self.store.gemm(m=[64, 32], n=512, k=1024, dtype="fp8")
        for _ in range(100):
            table.__arrow_c_stream__()


class RealInputs(unittest.TestCase):
    def test_a_shipped_system(self):
        answer = assay.store("h200_sxm").gemm(m=300, n=4096, k=4096, dtype="fp8")
        self.assertGreater(answer.latency, answer.roofline)

    def test_a_trace(self):
        path = next(TRACE.rglob("*.json.gz"))
        trace = assay.trace(path)
        self.assertIn("gpu_timeline", trace.sheets)
        self.assertGreater(len(trace.sheet("gpu_timeline")), 3)

    def test_a_comparison(self):
        compared = assay.compare(RUNS / "default", RUNS / "16cta_256threads")
        self.assertRegex(compared.answer, r"16cta_256threads is [\d.]+ % slower than default")
        self.assertTrue(any(text.startswith("Is it real?") for text in compared.answers))

    def test_a_schedule(self):
        with tempfile.TemporaryDirectory() as folder:
            made = assay.goal.generate(RECORDING, output=folder, from_=4.0035, to=4.0385)
            self.assertTrue(made.tables)
            schedule = pathlib.Path(folder, "output.goal")
            simulated = assay.simulate(schedule)
            self.assertGreater(len(simulated.table), 0)

    def test_progress_can_stop_a_call(self):
        with self.assertRaises(assay.Stopped):
            assay.compare(RUNS / "default", RUNS / "16cta_256threads", progress=lambda *_: False)

    def test_what_progress_raises_is_raised(self):
        def progress(*_):
            raise LookupError("mine")
        with self.assertRaisesRegex(LookupError, "mine"):
            assay.compare(RUNS / "default", RUNS / "16cta_256threads", progress=progress)

    def test_threads_get_equal_answers(self):
        store = assay.store("h200_sxm")
        sizes = [1, 100, 300, 5000]
        expected = store.gemm(m=sizes, n=4096, k=4096, dtype="fp8").to_list("latency")
        wrong = []

        def work():
            for _ in range(20):
                answers = store.gemm(m=sizes, n=4096, k=4096, dtype="fp8")
                if answers.to_list("latency") != expected:
                    wrong.append(answers)
                try:
                    store.gemm(m=1, dtype="none")
                    wrong.append("no error")
                except assay.AssayError as error:
                    if "needs" not in str(error):
                        wrong.append(error)

        threads = [threading.Thread(target=work) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_ctrl_c_stops_a_call(self):
        script = ("import assay, sys\n"
                  "try:\n"
                  "    print('begins', flush=True)\n"
                  "    while True: assay.trace.compare(baseline=sys.argv[1], test=sys.argv[2],"
                  " output=sys.argv[3])\n"
                  "except KeyboardInterrupt:\n"
                  "    print('stopped')\n")
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen([sys.executable, "-c", script, RUNS / "default",
                                        RUNS / "16cta_256threads", folder],
                                       stdout=subprocess.PIPE, text=True,
                                       env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
            process.stdout.readline()
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=60)
            self.assertEqual(said, "stopped\n")


if __name__ == "__main__":
    unittest.main()
