"""Python modules of the public collector's form under assay's worker."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"
WORKER = PYTHON / "assay_module_worker.py"
PATIENCE_S = 60
MODULE = """
    from helper import benchmark_with_power, log_perf
    import collector.helper

    def get_context_sum_test_cases():
        return [[10, "sum_context_perf.txt"], [1000, "sum_context_perf.txt"],
                [20, "sum_context_perf.txt"]]

    def get_generation_sum_test_cases():
        return [[20, "sum_generation_perf.txt"]]

    def run_sum(length, perf_filename, device="cuda:0"):
        if length == 1000:
            raise ValueError("no thousands")
        print("talk")
        values = list(range(length))
        with benchmark_with_power(device, lambda: sum(values), num_warmups=5, num_runs=6,
                                  repeat_n=1, allow_graph_fail=True) as res:
            pass
        assert set(res) == {"latency_ms", "power_stats", "throttled", "num_runs_executed",
                            "used_cuda_graph"}
        log_perf(item_list=[{"length": length, "kind": "list", "latency": res["latency_ms"]}],
                 framework="Python", version="3", device_name="CPU", op_name="sum",
                 kernel_source="default", perf_filename=perf_filename,
                 power_stats=res["power_stats"])
"""


class ModuleWorker(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-module-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.module = self.write("collect_sum.py", MODULE)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def worker(self, *options, module=None, requests=()):
        return subprocess.run(
            [sys.executable, WORKER, module or self.module, *options], text=True, check=False,
            input="".join(json.dumps(request) + "\n" for request in requests),
            capture_output=True, timeout=PATIENCE_S, cwd=self.folder)

    def test_lists_its_operators(self):
        done = self.worker("--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        operators = {each["name"]: each["cases"] for each in json.loads(done.stdout)["operators"]}
        self.assertEqual(operators, {
            "sum_context": [[10, "sum_context_perf.txt"], [1000, "sum_context_perf.txt"],
                            [20, "sum_context_perf.txt"]],
            "sum_generation": [[20, "sum_generation_perf.txt"]]})

    def test_measures_and_goes_on_after_an_error(self):
        requests = [{"id": number, "operator": "sum_context", "case": [length, "sum_context_perf.txt"]}
                    for number, length in ((1, 10), (2, 1000), (3, 20))]
        done = self.worker("--device", "cpu", requests=requests)
        self.assertEqual(done.returncode, 0, done.stderr)
        messages = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(messages[0]["device"]["kind"], "cpu")
        rows = {message["id"]: message["row"] for message in messages if "row" in message}
        self.assertEqual(set(rows), {1, 3})
        self.assertEqual(rows[1]["table"], "sum_context_perf")
        self.assertEqual(rows[1]["key"], [["length", 10], ["kind", "list"]])
        self.assertEqual(rows[1]["latency_ms"], rows[1]["timing"]["median_ms"])
        self.assertGreaterEqual(len(rows[1]["timing"]["samples_ms"]), 6)
        errors = {message["id"]: message["error"] for message in messages if "error" in message}
        self.assertEqual(errors[2]["class"], "ValueError")
        self.assertIn("no thousands", errors[2]["traceback"])
        self.assertIn("talk", done.stderr)

    def test_arguments_that_are_no_json_and_numbers_of_other_libraries(self):
        module = self.write("collect_typed.py", """
            import enum
            import fractions
            from helper import log_perf

            class Type(enum.Enum):
                BF16 = 1
                FP8 = 2

            def get_context_typed_test_cases():
                return [[Type.BF16, 1], [Type.FP8, 2]]

            def run_typed(dtype, length, device):
                assert isinstance(dtype, Type), dtype
                log_perf([{"dtype": dtype.name, "length": fractions.Fraction(length),
                           "latency": 1}], "x", "1", "CPU", "typed", "k", "typed_perf.txt")
        """)
        listed = json.loads(self.worker("--list", module=module).stdout)["operators"][0]["cases"]
        self.assertEqual(listed, [["Type.BF16", 1], ["Type.FP8", 2]])
        done = self.worker("--device", "cpu", module=module, requests=[
            {"id": 1, "operator": "typed_context", "case": listed[1]},
            {"id": 2, "operator": "typed_context", "case": ["Type.INT4", 1]}])
        messages = [json.loads(line) for line in done.stdout.splitlines()]
        (row,) = [message["row"] for message in messages if "row" in message]
        self.assertEqual(row["key"], [["dtype", "FP8"], ["length", 2.0]])
        self.assertIn("is not among its test cases", messages[-1]["error"]["message"])

    def test_options_of_the_collection(self):
        request = {"id": 1, "operator": "sum_context", "case": [10, "sum_context_perf.txt"],
                   "options": {"num_runs": 9, "repeat_n": 4}}
        done = self.worker("--device", "cpu", requests=[request])
        row = next(json.loads(line)["row"] for line in done.stdout.splitlines() if '"row"' in line)
        self.assertEqual(len(row["timing"]["samples_ms"]), 9)
        self.assertEqual(row["timing"]["launches_per_sample"], 4)

    def test_log_perf_alone_appends_under_one_header(self):
        script = f"""
            import sys
            sys.path.insert(0, {str(PYTHON)!r})
            import collect_sum
            for length in (10, 20):
                collect_sum.run_sum(length, "sum.txt", device="cpu")
            from helper import log_perf
            try:
                log_perf([{{"other": 1, "latency": 2}}], "Python", "3", "CPU", "sum", "default",
                         "sum.txt")
            except ValueError as error:
                print(error)
        """
        done = subprocess.run([sys.executable, self.write("alone.py", script)], text=True,
                              capture_output=True, check=False, cwd=self.folder,
                              env={**os.environ, "PYTHONPATH": f"{PYTHON}:{self.folder}"})
        # collector.helper is a name of the worker's making.
        self.assertIn("collector", done.stderr)
        self.write("collect_sum.py", MODULE.replace("import collector.helper", ""))
        done = subprocess.run([sys.executable, self.folder / "alone.py"], text=True,
                              capture_output=True, check=False, cwd=self.folder,
                              env={**os.environ, "PYTHONPATH": f"{PYTHON}:{self.folder}"})
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = (self.folder / "sum.txt").read_text(encoding="utf-8").splitlines()
        self.assertEqual(lines[0],
                         "framework,version,device,op_name,kernel_source,length,kind,latency")
        self.assertEqual(len(lines), 3)
        self.assertIn("its header is", done.stdout)

    def test_sensors_of_a_gpu(self):
        gpus = self.folder / "nvml"
        gpus.write_text("count 2\nsm_clock.1 1200\n", encoding="utf-8")
        script = f"""
            import sys
            sys.path.insert(0, {str(PYTHON)!r})
            import helper
            bus_id = "00000000:02:00.0"
            sensors = helper.Sensors.of(bus_id)
            state = sensors.read()
            assert state["sm_mhz"] == 1200, state
            assert sensors.energy_joules() > 0 and state["power_limit_watts"] > 0, state
            assert helper.Sensors.of("00000000:FF:00.0").read() == {{}}
            slow = helper._conditions({{"sm_mhz": 1980}}, state)
            assert slow["throttled"] and slow["sm_mhz_after"] == 1200, slow
            assert not helper._conditions(state, state)["throttled"]
        """
        done = subprocess.run([sys.executable, self.write("sensors.py", script)], text=True,
                              capture_output=True, check=False,
                              env={**os.environ, "ASSAY_FAKE_NVML": str(gpus),
                                   "ASSAY_LIBRARY_PATH": os.environ["FAKE_NVML"]})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no clocks or energy", done.stderr)

    def test_modules_that_are_none(self):
        for text, says in (("", "no get_..._test_cases() function"),
                           ("def get_context_x_test_cases(): return []", "no run_x()"),
                           ("import nothing_like_this", "ModuleNotFoundError"),
                           ("this is no Python", "SyntaxError")):
            done = self.worker("--list", module=self.write("bad.py", text))
            self.assertEqual(done.returncode, 1)
            self.assertIn(says, json.loads(done.stdout)["fatal"])
        done = self.worker("--list", module=self.folder / "missing.py")
        self.assertIn("no such file", json.loads(done.stdout)["fatal"])

    def test_an_error_that_loses_the_gpu_ends_the_worker(self):
        module = self.write("lost.py", """
            def get_context_x_test_cases(): return [[]]
            def run_x(device): raise RuntimeError("CUDA error: an illegal memory access")
        """)
        done = self.worker("--device", "cpu", module=module, requests=[
            {"id": 1, "operator": "x_context", "case": []},
            {"id": 2, "operator": "x_context", "case": []}])
        messages = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertTrue(messages[-1]["error"]["lost"])
        self.assertEqual(messages[-1]["id"], 1)
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    unittest.main()
