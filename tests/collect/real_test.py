"""assay collect with real workers: the CPU's kernels, an MPI job, a Python module."""
import csv
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import textwrap
import unittest

ASSAY = os.environ["ASSAY"]
PATIENCE_S = 180
# A job of ours may run under a launcher itself.
LAUNCHER_VARIABLES = ("OMPI_", "PMI_", "PMIX_", "SLURM_")


class RealTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-collect-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_assay(self, *words, code=0, launcher=()):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(LAUNCHER_VARIABLES)}
        if launcher:  # Open MPI keeps memory that it never frees
            environment["ASAN_OPTIONS"] = "detect_leaks=0"
        done = subprocess.run([*launcher, ASSAY, *words], cwd=self.folder, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S,
                              env=environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def table(self, name, folder="perf"):
        with open(self.folder / folder / name, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


@unittest.skipUnless(os.environ.get("CPU_WORKER"), "assay was built without oneDNN")
class OnTheCpu(RealTest):
    def test_measure_resume_and_query(self):
        sweep = ("collect", "gemm", "--device", "cpu", "--dtype", "float32,bfloat16",
                 "--m", "1,16,64", "--n", "64,256", "--k", "128", "--num-runs", "5")
        self.run_assay(*sweep, "--limit", "4")
        self.assertLessEqual(len(self.table("gemm_perf.txt")), 4)
        self.run_assay(*sweep, "--new-run")
        rows = self.table("gemm_perf.txt")
        self.assertIn(len(rows), (6, 12))  # 6: a processor without bfloat16
        self.assertEqual(list(rows[0]), ["framework", "version", "device", "op_name",
                                         "kernel_source", "gemm_dtype", "m", "n", "k", "latency"])
        self.assertTrue(all(float(row["latency"]) > 0 for row in rows))
        self.run_assay(*sweep, "--resume")
        answer = self.run_assay("store", "query", "gemm", "--m", "16", "--n", "64", "--k", "128",
                                "--dtype", "float32", "--store", "perf/perf.db",
                                "--format", "json")
        self.assertIn("latency", answer.stdout)

    def test_every_sample_is_in_the_store(self):
        self.run_assay("collect", "gemm", "--device", "cpu", "--dtype", "float32", "--m", "8",
                       "--n", "64", "--k", "64", "--num-runs", "7")
        with sqlite3.connect(self.folder / "perf" / "perf.db") as store:
            (rows,) = store.execute("SELECT count(*) FROM gemm_perf").fetchone()
            (kinds,) = store.execute("SELECT count(*) FROM run WHERE kind = 'collect'").fetchone()
        self.assertEqual((rows, kinds), (1, 1))

    @unittest.skipUnless(os.environ.get("MPI_PLUGIN") and shutil.which("mpirun"),
                         "assay was built without MPI, or there is no mpirun here")
    def test_an_mpi_job(self):
        launcher = ["mpirun", "--oversubscribe", "-n", "3"]
        if os.geteuid() == 0:
            launcher.append("--allow-run-as-root")
        self.run_assay("collect", "nccl", "--device", "cpu", "--dtype", "int8", "--num-gpus", "2,3",
                       "--message-size", "768", launcher=launcher)
        rows = self.table("nccl_perf.txt")
        self.assertEqual({(row["op_name"], row["num_gpus"]) for row in rows},
                         {(name, ranks) for ranks in "23"
                          for name in ("all_reduce", "all_gather", "reduce_scatter", "alltoall",
                                       "send_recv")})
        self.assertEqual(self.table("comm_perf.txt"), rows)
        # The launcher ends the job at the first process that fails, here never the one that tells.
        late = ["sh", "-c", 'test "$OMPI_COMM_WORLD_RANK" != 0 || sleep 1; exec "$@"', "late"]
        done = self.run_assay("collect", "gemm", "--device", "cpu", launcher=launcher + late,
                              code=2)
        self.assertEqual(done.stderr.count("only collectives"), 1, done.stderr)


class Modules(RealTest):
    MODULE = """
        import os
        from helper import benchmark_with_power, log_perf

        def get_context_sum_test_cases():
            return [[length, "sum_context_perf.txt"] for length in (10, 100, 1000)]

        def get_generation_sum_test_cases():
            return [[20, "sum_generation_perf.txt"]]

        def run_sum(length, perf_filename, device="cuda:0"):
            if length == 100:
                os.kill(os.getpid(), 9)
            with benchmark_with_power(device, lambda: sum(range(length)), num_warmups=5,
                                      num_runs=6, repeat_n=1, allow_graph_fail=True) as res:
                pass
            log_perf([{"length": length, "latency": res["latency_ms"]}], "Python", "3", "CPU",
                     "sum", "default", perf_filename, res["power_stats"])
    """

    def setUp(self):
        super().setUp()
        self.module = "collect_sum.py"
        (self.folder / self.module).write_text(textwrap.dedent(self.MODULE), encoding="utf-8")

    def test_a_module_whose_case_kills_its_worker(self):
        self.run_assay("collect", "--module", self.module, "--device", "cpu")
        self.assertEqual([row["length"] for row in self.table("sum_context_perf.txt")],
                         ["10", "1000"])
        self.assertEqual(len(self.table("sum_generation_perf.txt")), 1)
        reports = self.folder / "perf" / "reports" / "latest"
        (errors,) = reports.glob("errors_*.json")
        (error,) = json.loads(errors.read_text(encoding="utf-8"))
        self.assertEqual(error["error_type"], "WorkerSignalCrash")

    def test_the_name_of_the_backend_changes_no_row(self):
        self.run_assay("collect", "sum_generation", "--module", self.module, "--device", "cpu",
                       "--backend", "trtllm")
        self.assertEqual([row["framework"] for row in self.table("sum_generation_perf.txt")],
                         ["Python"])

    # A module may end its process to give back memory: no case is lost by that.
    def test_a_module_that_wants_a_new_process_after_each_case(self):
        text = textwrap.dedent(self.MODULE).replace("import os", "import sys").replace(
            "from helper import", "from helper import EXIT_CODE_RESTART,")
        text = text.replace("    if length == 100:\n        os.kill(os.getpid(), 9)\n", "")
        text += "    sys.exit(EXIT_CODE_RESTART)\n"
        (self.folder / self.module).write_text(text, encoding="utf-8")
        self.run_assay("collect", "--module", self.module, "--device", "cpu")
        self.assertEqual({row["length"] for row in self.table("sum_context_perf.txt")},
                         {"10", "100", "1000"})
        self.assertEqual(len(self.table("sum_generation_perf.txt")), 1)

    def test_its_operators_can_be_chosen(self):
        self.run_assay("collect", "sum_generation", "--module", self.module, "--device", "cpu")
        self.assertFalse((self.folder / "perf" / "sum_context_perf.txt").exists())
        done = self.run_assay("collect", "sum", "--module", self.module, "--device", "cpu", code=1)
        self.assertIn("sum_context, sum_generation", done.stderr)

    def test_a_module_that_does_not_load(self):
        (self.folder / "bad.py").write_text("import nothing_like_this\n", encoding="utf-8")
        for name, says in (("bad.py", "nothing_like_this"), ("none.py", "no such file")):
            done = self.run_assay("collect", "--module", name, "--device", "cpu", code=1)
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
