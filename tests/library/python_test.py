#!/usr/bin/env python3
"""The Python package over libassay, as its users have it. Runs with Python alone; what needs NumPy or
pandas is left out where they are not.

usage: ASSAY_LIBRARY=libassay.so PYTHONPATH=python python_test.py
"""
import concurrent.futures
import copy
import ctypes
import fractions
import gc
import importlib.util
import json
import multiprocessing
import numbers
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import assay

SOURCE = pathlib.Path(os.environ.get("ASSAY_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
TRACE = SOURCE / "samples/traces-2gpu"
RUNS = SOURCE / "samples/sweep-nccl-ctas"
RECORDING = SOURCE / "samples/goal-4gpu"
BENCHMARKS = SOURCE / "samples/allreduce-h200"


def without(module):
    return unittest.skipUnless(importlib.util.find_spec(module), f"no {module} here")


def gemm_file(folder):
    path = pathlib.Path(folder) / "gemm_perf.csv"
    lines = ["framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency"]
    for dtype, ms in (("bfloat16", 0.2), ("fp8", 0.1)):
        lines += [f"a,1,d,gemm,source,{dtype},{2**i},512,1024,{ms * 2**i}" for i in range(7)]
    path.write_text("\n".join(lines) + "\n")
    return path


def ask_file(path, columns):
    """What another process does."""
    return assay.store(path).gemm(**columns).latency


class Scalar:
    """A number that is none of Python's, as those of NumPy."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return float(self.value)


numbers.Real.register(Scalar)


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
        self.assertEqual(assay.__version__, assay.version())
        self.assertIn("plan", dir(assay))
        for wrong, error in [(lambda: assay.nothing, "there are .*, plan, record"),
                             (lambda: assay.pln, "did you mean 'plan'"),
                             (lambda: assay.goal.generated, "assay.goal has no .* mean 'generate'")]:
            with self.assertRaisesRegex(AttributeError, error):
                wrong()
        for name in dir(assay):
            self.assertTrue(getattr(assay, name).__doc__, name)

    def test_help_reads_like_the_manual(self):
        import pydoc
        page = pydoc.plain(pydoc.render_doc(assay.goal.generate))
        self.assertIn("replicas", page)
        self.assertIn("Returns assay.Result", page)
        self.assertIn("search", assay.plan.__doc__)
        self.assertIn("table: open a table", assay.allreduce.__doc__)
        self.assertIn("assay_allreduce", assay.__doc__)


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

    def test_figures_are_numbers_beside_the_text(self):
        found = assay.plan.search(model="qwen3-8b", gpus=1)
        tokens = found.table["tokens/s per GPU"][0]
        self.assertTrue(found.table["tokens/s per GPU low"][0] < tokens
                        < found.table["tokens/s per GPU high"][0])
        self.assertIn("What could make this wrong", found.text)

    def test_options_are_no_words_of_a_users_command(self):
        with tempfile.TemporaryDirectory() as folder:
            started = pathlib.Path(folder, "started")
            assay.sweep.run("--", "sh", "-c", f"touch {started}", set=["A=,1"], plan_only=True,
                            output=pathlib.Path(folder, "runs"))
            self.assertFalse(started.exists())
        from assay._commands import listed, words_of
        for name in ("record", "sweep run"):
            words = words_of(listed()[name], ["--", ["sh", "--", "a"]], {"output": "there"})
            self.assertEqual(words, [*name.split(), "--output", "there", "--", "sh", "--", "a"])

    def test_a_list_repeats_an_option_or_is_its_value(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = assay.sweep.run("--", "sh", "run.sh", set=["A=,1", "B=x,y"], plan_only=True, seed=1,
                                   output=pathlib.Path(folder, "runs")).text
        self.assertEqual({line for line in plan.splitlines() if line.startswith("env ")},
                         {f"env {a} B={b} sh run.sh" for a in ("A=1", "-u A") for b in "xy"})
        with self.assertRaisesRegex(assay.UsageError, "'a.bin' is not among"):
            assay.goal.merge("c.bin", place=["a.bin:0-3", "b.bin:4-7"], output="merged.bin")
        from assay._commands import listed, option_words
        self.assertEqual(option_words(listed()["collect"], {"case_filter": ["m=1 ", "m=2,"]}),
                         ["--case-filter", "m=1 ", "--case-filter", "m=2,"])
        self.assertEqual(option_words(listed()["trace compare"], {"write": ["csv", "json"]}),
                         ["--write", "csv,json"])

    def test_every_long_name_is_a_keyword(self):
        import inspect
        from assay._commands import listed, option_words
        command = listed()["goal generate"]
        for name in ("output", "output_dir"):
            self.assertEqual(option_words(command, {name: "there"}), ["--output", "there"])
        self.assertEqual(option_words(command, {"n_workers": 2}), ["--workers", "2"])
        self.assertIn("output", inspect.signature(assay.goal.generate).parameters)
        self.assertIn("output", inspect.signature(assay.allreduce.bench).parameters)

    def test_values_of_other_kinds(self):
        from assay._commands import listed, option_words, words_of
        command = listed()["collect"]
        for many in ([1, 2], (1, 2), range(1, 3), iter([1, 2]), (i for i in (1, 2)), map(int, "12"),
                     {1: "a", 2: "b"}):
            self.assertEqual(option_words(command, {"m": many}), ["--m", "1,2"])
        with open(os.devnull, encoding="utf-8") as file:
            self.assertEqual(option_words(command, {"m": file}), ["--m", str(file)])
        self.assertEqual(option_words(listed()["trace compare"], {"test": [b"/a", pathlib.Path("/b")]}),
                         ["--test", "/a", "--test", "/b"])
        self.assertEqual(option_words(listed()["trace compare"], {"test": iter(["/a", "/b"])}),
                         ["--test", "/a", "--test", "/b"])
        self.assertEqual(words_of(listed()["trace fuse"], [b"/a\xff", range(2)], {}),
                         ["trace", "fuse", "/a\udcff", "0", "1"])
        self.assertEqual(words_of(listed()["trace report"], [(name for name in "ab")], {}),
                         ["trace", "report", "a", "b"])
        with self.assertRaisesRegex(assay.AssayError, "'/nosuch'"):
            assay.trace(b"/nosuch").sheets  # pylint: disable=expression-not-assigned

    @without("numpy")
    def test_values_of_numpy(self):
        import numpy
        from assay._commands import listed, option_words
        command = listed()["collect"]
        for value, words in ((numpy.array([1, 2]), ["--m", "1,2"]), (numpy.int64(3), ["--m", "3"]),
                             (numpy.array(3), ["--m", "3"]), (numpy.bool_(False), [])):
            self.assertEqual(option_words(command, {"m": value}), words)

    def test_what_is_no_name_of_a_table(self):
        result = assay.store.list("h200_sxm")
        with self.assertRaisesRegex(KeyError, "no table 0; there are .*; `tables` is a list"):
            result[0]  # pylint: disable=pointless-statement

    def test_a_word_that_c_would_cut(self):
        with self.assertRaisesRegex(assay.UsageError, "word of the command has a NUL character"):
            assay.run("version\0x")


class Collecting(unittest.TestCase):
    def test_a_function_of_ones_own(self):
        timing = assay.collect.measure(lambda: time.sleep(0.001), device="cpu")
        self.assertGreaterEqual(timing["median_ms"], 1)
        self.assertTrue(callable(assay.collect.helper.log_perf))

    def test_what_it_lacks(self):
        with unittest.mock.patch.dict(sys.modules, torch=None):
            with self.assertRaisesRegex(assay.AssayError, "on cuda:0 needs PyTorch .*device=\"cpu\""):
                assay.collect.measure(lambda: None)
        with unittest.mock.patch.object(assay.collect.helper, "_library",
                                        side_effect=ImportError("no engine")):
            with self.assertRaisesRegex(assay.AssayError, "collect.measure: no engine"):
                assay.collect.measure(lambda: None, device="cpu")


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
        with self.assertRaisesRegex(assay.UsageError, "not int"):
            assay.allreduce.visualize_2d_heatmap(3, save_path=self.folder / "heatmap.png")
        for words in ((self.file, "NONE", "/nowhere\0.png"), ("/nowhere\0", "NONE", "x.png"),
                      (self.file, "NONE\0x", "x.png")):
            with self.assertRaisesRegex(assay.UsageError, "has a NUL character"):
                assay.allreduce.visualize_2d_heatmap(*words)

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

    def test_columns_are_whatever_can_be_iterated_over(self):
        for m in (iter([64]), (size for size in (64,)), map(int, ["64"]), {64}, {64: "a"}.keys()):
            answers = self.store.gemm(m=m, n=512, k=1024, dtype="fp8")
            self.assertEqual(answers.to_list("latency"), [6.4])
        surface = self.store.surface("gemm", free="m", n=512, k=1024, dtype="fp8")
        self.assertEqual(list(surface(size for size in (64, 32))), [6.4, 3.2])

    def test_a_table_is_a_mapping_of_columns(self):
        table = self.store.gemm(m=[64, 32], n=512, k=1024, dtype="fp8")
        self.assertIn("latency", table)
        for other in ("nothing", 0, ["latency"]):
            self.assertNotIn(other, table)
        self.assertEqual(list(table), table.columns)
        for other in (0, slice(2), ["latency"]):
            with self.assertRaisesRegex(KeyError, "has no column .*; there are latency, .*rows"):
                table[other]  # pylint: disable=pointless-statement

    def test_no_questions(self):
        self.assertEqual(len(self.store.gemm(m=[], n=512, k=1024, dtype="fp8")), 0)

    def test_bad_questions(self):
        for columns, error in [({"m": [1, 2], "n": [1, 2, 3]}, "column 'n' has 3 values"),
                               ({"mm": 1}, "no column 'mm'"), ({"n": 512}, "needs m"),
                               ({"m": "many"}, "whole number of at least 1"),
                               ({"m": float("nan"), "dtype": "fp8"}, "not nan"),
                               ({"m": None}, "m has None, which is neither"),
                               ({"m": [1, None]}, "m has None"), ({"m": True}, "m has True"),
                               ({"m": [1, "2"]}, "m has numbers and texts"),
                               ({"m": 10**400}, "m: int too large"),
                               ({"m": {}}, "m is a mapping"), ({"m": {1: 2}}, "m is a mapping")]:
            with self.assertRaisesRegex(assay.AssayError, error):
                self.store.gemm(**columns)
        with self.assertRaisesRegex(assay.UsageError, "gemm takes columns by their names"):
            self.store.gemm(300)

    def test_a_wrong_question_is_wrong_usage(self):
        for columns, error in [({"m": "many"}, "whole number of at least 1"),
                               ({"m": -1}, "whole number of at least 1"),
                               ({"m": 1.5}, "whole number of at least 1"), ({}, "needs --m"),
                               ({"m": 64, "dtype": "fp9"}, "no gemm_dtype 'fp9'")]:
            with self.assertRaisesRegex(assay.UsageError, error):
                assay.store.query("gemm", n=4096, k=4096, **columns)
        with self.assertRaisesRegex(assay.UsageError, "needs m"):
            self.store.surface("gemm", free="n", dtype="fp8")

    @without("numpy")
    def test_bad_arrays(self):
        import numpy
        for m, error in [(numpy.ones((2, 2)), "m has 2 dimensions"),
                         (numpy.array([1j]), "m has 1j"),
                         (numpy.array([True, False]), "m has True"),
                         (numpy.array(["2026-11-27"], dtype="M8[D]"), "m has datetime")]:
            with self.assertRaisesRegex(assay.UsageError, error) as raised:
                self.store.gemm(m=m, dtype="fp8")
            self.assertIsNone(raised.exception.__cause__)
        surface = self.store.surface("gemm", free="m", dtype="fp8")
        for m in ("x", ["x"], numpy.array(["x"])):
            with self.assertRaisesRegex(assay.UsageError, "^m: ") as raised:
                surface(m)
            self.assertTrue(raised.exception.__suppress_context__)

    @without("numpy")
    def test_kinds_of_columns(self):
        import numpy
        for m in (numpy.int64(64), numpy.float32(64), numpy.array(64), numpy.array("64"), 64.0, "64"):
            self.assertEqual(self.store.gemm(m=m, dtype=numpy.str_("fp8")).latency, 6.4)
        for m in (range(64, 65), (64,), [numpy.int64(64)], [numpy.float32(64)],
                  numpy.array([64], dtype="u1"), numpy.array([64], dtype="f2"),
                  numpy.arange(128)[64::128], numpy.array([64], dtype=object)):
            for dtype in (["fp8"], numpy.array(["fp8"]), numpy.array(["fp8"], dtype=object)):
                self.assertEqual(self.store.gemm(m=m, dtype=dtype).to_list("latency"), [6.4])

    @without("numpy")
    def test_a_masked_number_has_no_answer(self):
        import numpy
        m = numpy.ma.array([64, 32], mask=[False, True])
        answers = self.store.gemm(m=m, n=512, k=1024, dtype="fp8")
        self.assertEqual(answers.to_list("latency"), [6.4, None])
        self.assertIn("not nan", answers.to_list("refused")[1])
        latency = self.store.surface("gemm", free="m", dtype="fp8")(m)
        numpy.testing.assert_array_equal(latency, [6.4, numpy.nan])

    @without("pandas")
    def test_columns_of_pandas(self):
        import pandas
        asked = pandas.DataFrame({"m": [64, 32], "dtype": ["fp8", "bfloat16"]})
        self.assertEqual(self.store.query("gemm", **asked).to_list("latency"), [6.4, 6.4])
        asked["dtype"] = asked["dtype"].astype("category")
        asked["m"] = asked["m"].astype("Int64")
        self.assertEqual(self.store.query("gemm", **asked).to_list("latency"), [6.4, 6.4])
        asked.loc[0, "m"] = None
        with self.assertRaisesRegex(assay.UsageError, "m: .*missing values"):
            self.store.query("gemm", **asked)

    def test_texts_that_c_would_cut(self):
        for call in (lambda: self.store.gemm(m=64, dtype="fp8\0x"),
                     lambda: self.store.gemm(m=64, dtype=["fp8", "fp8\0x"]),
                     lambda: self.store.query("gemm\0x", m=64, dtype="fp8"),
                     lambda: self.store.query("gemm", **{"m\0x": 64, "dtype": "fp8"}),
                     lambda: self.store.surface("gemm", free="m\0x", dtype="fp8"),
                     lambda: self.store.columns("gemm\0x"),
                     lambda: assay.store(f"{self.file}\0x")):
            with self.assertRaisesRegex(assay.UsageError, "has a NUL character"):
                call()

    def test_texts_that_are_none(self):
        for call in (lambda: self.store.columns(3), lambda: self.store.query(3, m=64),
                     lambda: self.store.surface(3, free="m"),
                     lambda: self.store.surface("gemm", free=[3])):
            with self.assertRaisesRegex(assay.UsageError, "is 3, which is no text"):
                call()
        with self.assertRaisesRegex(assay.UsageError, "dtype is not UTF-8: 'fp8.udc80'"):
            self.store.gemm(m=64, dtype="fp8\udc80")
        for path in (3, None):
            for call in (assay.store, assay.allreduce.table):
                with self.assertRaisesRegex(assay.UsageError, "a path is .*, not (int|NoneType)"):
                    call(path)

    def test_arguments_of_other_kinds(self):
        question = {"m": 64, "n": 512, "k": 1024, "dtype": "fp8"}
        for extrapolate in ("yes", None, 2, [True, False]):
            with self.assertRaisesRegex(assay.UsageError, "extrapolate is .*, which is neither"):
                self.store.gemm(extrapolate=extrapolate, **question)
        for extrapolate in (True, False, 1, 0):
            self.assertEqual(self.store.gemm(extrapolate=extrapolate, **question).latency, 6.4)
        with self.assertRaisesRegex(assay.UsageError, "free is None; it is the name of a size"):
            self.store.surface("gemm", free=None, dtype="fp8")
        for call in (lambda: self.store.query("gemm", progress=3, **question),
                     lambda: assay.store.list(progress=3)):
            with self.assertRaisesRegex(assay.UsageError, "progress is 3, which is no function"):
                call()
        surface = self.store.surface("gemm", free="m", dtype="fp8")
        for sizes in (["64"], ["64", 32], "64"):
            with self.assertRaisesRegex(assay.UsageError, "^m: "):
                surface(sizes)

    def test_scalars_of_other_kinds(self):
        """NumPy's scalars say by `numbers` what they are; those of Python do, too."""
        for m in (Scalar(64), fractions.Fraction(64)):
            self.assertEqual(self.store.gemm(m=m, n=512, k=1024, dtype="fp8").latency, 6.4)
            self.assertEqual(self.store.gemm(m=[m, 32], n=512, k=1024, dtype="fp8")
                             .to_list("latency"), [6.4, 3.2])
            surface = self.store.surface("gemm", free="m", dtype="fp8")
            self.assertEqual(list(surface([m, 32])), [6.4, 3.2])

    def test_errors_reach_other_processes(self):
        refused = {"m": 64, "n": 512, "k": 1024, "dtype": "fp8", "zz": 1}
        with self.assertRaises(assay.UsageError) as raised:
            self.store.gemm(**refused)
        self.assertIsInstance(raised.exception.result, assay.Result)
        for made in (raised.exception, assay.Stopped("interrupted"), assay.AssayError("text", self)):
            copied = pickle.loads(pickle.dumps(made))
            self.assertIs(type(copied), type(made))
            self.assertEqual(str(copied), str(made))
            self.assertIsNone(copied.result)
        processes = concurrent.futures.ProcessPoolExecutor(
            1, mp_context=multiprocessing.get_context("spawn"))
        with processes, self.assertRaisesRegex(assay.UsageError, "no column 'zz'"):
            processes.submit(ask_file, self.file, refused).result()

    def test_a_path_of_any_bytes(self):
        path = os.fsencode(self.file.parent) + b"/\xff_gemm_perf.csv"
        pathlib.Path(os.fsdecode(path)).write_bytes(self.file.read_bytes())
        for name in (path, os.fsdecode(path), pathlib.Path(os.fsdecode(path))):
            self.assertIn("_gemm_perf.csv", repr(assay.store(name)))
        with self.assertRaisesRegex(assay.AssayError, "cannot read|no such"):
            assay.store("/nowhere/\udcff")

    def test_the_names_of_tables(self):
        self.assertEqual(self.store.tables, ["gemm"])
        self.assertIn("gemm", dir(self.store))

    def test_what_notebooks_show(self):
        answers = self.store.gemm(m=[64] * 30, n=512, k=1024, dtype=["fp8"] * 29 + ["<b>"])
        page = answers._repr_html_()
        self.assertIn("latency (ms)", page)
        self.assertIn("and 10 more rows", page)
        self.assertNotIn("<b>'", self.store.gemm(m=[1], dtype="<b>")._repr_html_())
        self.assertNotIn("color", page)  # it is that of the notebook, be it dark or light

    def test_a_closed_store(self):
        self.store.close()
        self.store.close()
        self.assertIn("closed", repr(self.store))
        self.assertIn("query", dir(self.store))
        for call in (lambda: self.store.gemm(m=1), self.store.columns,
                     lambda: self.store.surface("gemm", free="m")):
            with self.assertRaisesRegex(assay.UsageError, "is closed"):
                call()

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

    def test_a_surface_of_lists_without_numpy(self):
        with unittest.mock.patch.dict(sys.modules, numpy=None):
            surface = self.store.surface("gemm", free=["m", "n"], k=1024, dtype="fp8")
            self.assertEqual(surface([64, 32], 512), [6.4, 3.2])
            self.assertEqual(surface(range(64, 65), [512]), [6.4])
            self.assertEqual(surface([], 512), [])
            refused, answered = surface((0, 64), [512])
            self.assertNotEqual(refused, refused)
            self.assertEqual(answered, 6.4)
            for sizes in (([1, 2], [1, 2, 3]), (["x"], 512), ([None], 512), ([[64]], 512),
                          ([10**400], 512)):
                with self.assertRaisesRegex(assay.UsageError, "^m, n: "):
                    surface(*sizes)

    def test_a_size_of_a_surface_is_free_or_bound(self):
        for free in ("m", ["n", "m"]):
            with self.assertRaisesRegex(assay.UsageError, "m is free and has a value"):
                self.store.surface("gemm", free=free, m=8192, dtype="fp8")
        with self.assertRaisesRegex(assay.UsageError, "m is named twice"):
            self.store.surface("gemm", free=["m", "m"], dtype="fp8")

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

    def test_what_owns_memory_is_not_copied(self):
        owners = [self.store, self.store.surface("gemm", free="m", dtype="fp8"),
                  assay.run("version"), assay.allreduce.table(BENCHMARKS)]
        for owner in owners:
            for copied in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, f"assay.{type(owner).__name__} can be neither"):
                    copied(owner)
        del owner, owners
        gc.collect()
        self.assertEqual(self.store.gemm(m=64, n=512, k=1024, dtype="fp8").latency, 6.4)

    def test_copies_of_a_table_share_its_memory(self):
        table = self.store.gemm(m=[64, 32], n=512, k=1024, dtype="fp8")
        for copied in (copy.copy(table), copy.deepcopy(table)):
            copied.notes.append("mine")
            self.assertEqual(copied.to_dict(), table.to_dict())
            self.assertEqual(table.notes, [])
        del table
        gc.collect()
        self.assertEqual(copied.to_list("latency"), [6.4, 3.2])
        with self.assertRaisesRegex(TypeError, "assay.Table cannot be pickled"):
            pickle.dumps(copied)

    def test_a_capsule_that_nobody_takes(self):
        table = self.store.gemm(m=[64, 32], n=512, k=1024, dtype="fp8")
        for _ in range(100):
            table.__arrow_c_stream__()


class Strategies(unittest.TestCase):
    def test_one_message(self):
        chosen = assay.allreduce.table(BENCHMARKS).lookup(tp=4, hidden=7168, tokens=64)
        self.assertEqual(chosen.strategy, "TWOSHOT_PUSH")
        self.assertEqual(chosen.time_from, "measured")
        self.assertIs(chosen.extrapolated, False)
        self.assertLess(chosen.link_limit, chosen.time)
        self.assertLessEqual(chosen.from_, chosen.message)

    def test_gpus_whose_links_are_not_known(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "table.json")
            with open(path, "w") as file:
                file.write('{"format": "assay allreduce table", "version": 3, "sm_version": 89, '
                           '"launch": "graph", "fallback": "NCCL", "provenance": "", "slices": []}')
            chosen = assay.allreduce.table(path).lookup(tp=4, hidden=7168, tokens=64)
        self.assertIsNone(chosen.link_limit)
        self.assertEqual(repr(chosen), "<NCCL: fallback>")

    def test_many_messages(self):
        table = assay.allreduce.table(BENCHMARKS, launch="eager")
        found = table.lookup(tp=[3, 4], hidden=7168, tokens=64)
        self.assertEqual(found.to_list("extrapolated"), [True, False])
        self.assertEqual(list(found["extrapolated"]), [True, False])
        impossible = table.lookup(tp=[1, 2, 8, 9, 1000000], hidden=7168, tokens=64)
        for name in ("time", "link limit"):
            self.assertEqual([value is None for value in impossible.to_list(name)],
                             [True, False, False, True, True], name)
        self.assertEqual(found.unit("time"), "us")
        self.assertIn("launched by eager", found.notes[0])

    def test_a_table_by_itself(self):
        table = assay.allreduce.table(BENCHMARKS / "gen_heuristic_code/allreduce_table.json")
        self.assertIsNone(table.lookup(4, 7168, 64).time)

    def test_what_is_wrong(self):
        with self.assertRaisesRegex(assay.UsageError, "did you mean '--launch'"):
            assay.allreduce.table(BENCHMARKS, lunch="eager")
        with self.assertRaisesRegex(assay.AssayError, "/nowhere"):
            assay.allreduce.table("/nowhere")
        with self.assertRaisesRegex(assay.AssayError, "cannot read"):
            assay.allreduce.table("/nowhere/\udcff")
        for name, options in (("/nowhere\0x", {}), (BENCHMARKS, {"launch": "eager\0x"})):
            with self.assertRaisesRegex(assay.UsageError, "has a NUL character"):
                assay.allreduce.table(name, **options)
        table = assay.allreduce.table(BENCHMARKS)
        for message, error in [({"tokens": 0}, "tokens of question 0 is 0"),
                               ({"tokens": [1, 2], "tp": [1, 2, 3]}, "has 2 values, but 'tp' has 3"),
                               ({"dtype": "fp8"}, "'fp8' is not one of"),
                               ({"dtpye": "bfloat16"}, "did you mean 'dtype'")]:
            with self.assertRaisesRegex(assay.UsageError, error):
                table.lookup(**{"tp": 4, "hidden": 7168, "tokens": 64, **message})


class RealInputs(unittest.TestCase):
    def test_tables_of_slower_kernels(self):
        """All columns of all tables can be listed, those of gemm_perf_others, too."""
        store = assay.store("h200_sxm")
        self.assertIn("gemm_perf_others", store.tables)
        self.assertGreater(len(store.columns("gemm_perf_others")), 3)

    def test_foreign_files(self):
        for call in (lambda: assay.trace(SOURCE / "README.md").sheets,
                     lambda: assay.simulate(SOURCE / "README.md"),
                     lambda: assay.store(SOURCE / "README.md").gemm(m=1),
                     lambda: assay.allreduce.table(SOURCE / "README.md")):
            with self.assertRaisesRegex(assay.AssayError, "README.md"):
                call()
        with self.assertRaisesRegex(assay.AssayError, "these are 2 traces: give one"):
            assay.trace(TRACE / "ctas_16").sheets  # pylint: disable=expression-not-assigned

    def test_a_shipped_system(self):
        answer = assay.store("h200_sxm").gemm(m=300, n=4096, k=4096, dtype="fp8")
        self.assertGreater(answer.latency, answer.roofline)

    def test_a_trace(self):
        path = next(TRACE.rglob("*.json.gz"))
        trace = assay.trace(path)
        self.assertIn("gpu_timeline", trace.sheets)
        with self.assertRaisesRegex(KeyError, "no table 'gpu_timelin'; did you mean 'gpu_timeline'"):
            trace.sheet("gpu_timelin")
        with self.assertRaisesRegex(KeyError, "did you mean 'time ms'"):
            trace.sheet("gpu_timeline")["time m"]  # pylint: disable=expression-not-assigned
        shown = trace.report._repr_html_()
        self.assertIn("more tables: ", shown)
        self.assertNotIn("(ms) (ms)", shown)
        self.assertGreater(len(trace.sheet("gpu_timeline")), 3)

    def test_a_trace_with_files(self):
        path = next(TRACE.rglob("*.json.gz"))
        with tempfile.TemporaryDirectory() as folder:
            trace = assay.trace(path, output=folder, write="json")
            self.assertTrue(list(pathlib.Path(folder).rglob("*.json")))
            self.assertEqual(len(trace.sheets), 1)

    def test_a_comparison(self):
        compared = assay.compare(RUNS / "default", RUNS / "16cta_256threads")
        self.assertRegex(compared.answer, r"16cta_256threads is [\d.]+ % slower than default")
        self.assertTrue(any(text.startswith("Is it real?") for text in compared.answers))
        self.assertIn("Attribution", compared.sheets)
        self.assertEqual(compared.report.notes, [])  # which name the files that are written
        self.assertNotIn("GPU_Steps", compared._repr_html_().split("sheets: ")[0])

    def test_a_comparison_of_several(self):
        compared = assay.compare(RUNS / "default", RUNS / "16cta_256threads", RUNS / "4cta_512threads")
        self.assertRegex(compared.answer, "Keep default")
        self.assertIn("4cta_512threads/Summary_Dashboard says", compared.answers[0])
        self.assertEqual(compared.sheets[0], "Ranking")
        self.assertLessEqual({"Pairs", "Bandwidth"}, set(compared.sheets))
        for test in ("16cta_256threads", "4cta_512threads"):
            self.assertIn(f"{test} is", compared.sheet(test + "/summary").title)
            self.assertGreater(len(compared.sheet(test + "/Attribution")), 3)
        alone = assay.compare(RUNS / "default", RUNS / "4cta_512threads")
        name = "GPU_Summary_Raw"
        self.assertEqual(compared.sheet("4cta_512threads/" + name).to_dict(),
                         alone.sheet(name).to_dict())

    def test_a_comparison_with_files(self):
        with tempfile.TemporaryDirectory() as folder:
            assay.compare(RUNS / "default", RUNS / "16cta_256threads", output=folder, write="json")
            self.assertTrue(pathlib.Path(folder, "final_analysis_report.json").exists())

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

    def test_progress_can_stop_calls_on_stores(self):
        """Before they have given a row."""
        with tempfile.TemporaryDirectory() as folder:
            merged = pathlib.Path(folder, "merged.db")
            batch = pathlib.Path(folder, "batch.csv")
            batch.write_text("m,n,k,dtype\n" + "".join(f"{m},4096,4096,fp8\n" for m in range(1, 60000)))
            for call in (lambda stop: assay.store.check(store="h200_sxm", held_out=True, progress=stop),
                         lambda stop: assay.store.query("gemm", batch=batch, progress=stop),
                         lambda stop: assay.store.import_("h200_sxm", store=merged, progress=stop)):
                with self.assertRaises(assay.Stopped) as raised:
                    call(lambda *_: False)
                self.assertEqual(sum(map(len, raised.exception.result)), 0)
            self.assertEqual(raised.exception.result.notes,
                             [f"{merged}: what was begun is undone; 0 runs before it are kept"])
            self.assertEqual(len(assay.store.list(merged)["runs"]), 0)

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


if __name__ == "__main__":
    unittest.main()
