"""Python modules of the public collector's form under assay's worker."""
import json
import os
import pathlib
import shutil
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

    def collector(self):
        """A collector's folder as the public one is laid out: cases and types of registries at its
        top, a folder for a framework with modules and their registry below."""
        top = self.folder / "collector"
        framework = top / "engine"
        framework.mkdir(parents=True)
        self.write("collector/registry_types.py", """
            from dataclasses import dataclass
            from enum import Enum

            class PerfFile(str, Enum):
                ATTENTION = "context_attention_perf.txt"
                MOE = "moe_perf.txt"

                def __str__(self):
                    return self.value

            @dataclass(frozen=True)
            class Route:
                min_version: str
                module: str

            @dataclass(frozen=True)
            class Entry:
                op: str
                get_func: str
                run_func: str
                perf_filename: str
                module: str = None
                versions: tuple = ()
        """)
        self.write("collector/case_generator.py", """
            def get_attention_cases():
                return [[1, 2], [3, 4]]
        """)
        self.write("collector/helper.py", """
            def own_draw(tokens):
                return ["own"] * tokens
            def log_perf(*arguments, **keywords):
                raise RuntimeError("this is not assay's")
        """)
        self.write("collector/engine/registry.py", """
            from collector.registry_types import Entry, PerfFile, Route
            REGISTRY = [
                Entry(op="attention_context", module="collector.engine.collect_attn",
                      get_func="get_context_attention_test_cases",
                      run_func="run_attention_torch", perf_filename=PerfFile.ATTENTION),
                Entry(op="moe", get_func="get_moe_test_cases", run_func="run_moe_torch",
                      perf_filename=PerfFile.MOE,
                      versions=(Route("2.0", "collector.engine.collect_moe"),)),
                Entry(op="lost", module="collector.engine.collect_lost", get_func="get",
                      run_func="run", perf_filename="lost_perf.txt"),
            ]
        """)
        self.write("collector/engine/collect_attn.py", """
            from case_generator import get_attention_cases
            from collector.helper import benchmark_with_power, log_perf

            def get_context_attention_test_cases():
                return get_attention_cases()

            def run_attention_torch(batch, length, *, perf_filename, device="cuda:0"):
                assert device == "cpu", device
                with benchmark_with_power(device, lambda: sum(range(length))) as results:
                    pass
                log_perf([{"batch_size": batch, "isl": length, "latency": results["latency_ms"]}],
                         framework="TRTLLM", version="1", device_name="CPU",
                         op_name="context_attention", kernel_source="torch_flow",
                         perf_filename=perf_filename)
        """)
        self.write("collector/engine/collect_moe.py", """
            import sys
            from .collect_attn import log_perf
            from helper import EXIT_CODE_RESTART, own_draw

            def get_moe_test_cases():
                return [{"id": "a", "params": [2]}, {"id": "b", "params": [3]}]

            def run_moe_torch(tokens, *, perf_filename, device):
                assert own_draw(tokens) == ["own"] * tokens
                log_perf([{"num_tokens": tokens, "latency": 1}], "TRTLLM", "1", "CPU", "moe", "k",
                         perf_filename)
                sys.exit(EXIT_CODE_RESTART)
        """)
        return framework

    def test_a_module_of_a_collector_with_its_registry(self):
        module = self.collector() / "collect_attn.py"
        listed = json.loads(self.worker("--list", module=module).stdout)["operators"]
        self.assertEqual(listed, [{"name": "attention_context", "cases": [[1, 2], [3, 4]]}])
        done = self.worker("--device", "cpu", module=module, requests=[
            {"id": 1, "operator": "attention_context", "case": [3, 4]}])
        (row,) = [json.loads(line)["row"] for line in done.stdout.splitlines() if '"row"' in line]
        self.assertEqual(row["table"], "context_attention_perf")
        self.assertEqual(row["framework"], "TRTLLM")
        self.assertEqual(row["key"], [["batch_size", 3], ["isl", 4]])

    def test_a_registry_as_the_module(self):
        registry = self.collector() / "registry.py"
        done = self.worker("--list", module=registry)
        answer = json.loads(done.stdout)
        listed = {each["name"]: each["cases"] for each in answer["operators"]}
        self.assertEqual(listed, {"attention_context": [[1, 2], [3, 4]], "moe": [[2], [3]]})
        (note,) = answer["notes"]
        self.assertIn("left out: lost: ModuleNotFoundError: No module named", note)

    def test_a_module_that_ends_its_process_is_done_all_the_same(self):
        module = self.collector() / "collect_moe.py"
        done = self.worker("--device", "cpu", module=module, requests=[
            {"id": 1, "operator": "moe", "case": [2]}, {"id": 2, "operator": "moe", "case": [3]}])
        messages = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(messages[-1], {"id": 1, "done": True})
        self.assertEqual(done.returncode, 10)
        (row,) = [message["row"] for message in messages if "row" in message]
        self.assertEqual((row["table"], row["framework"]), ("moe_perf", "TRTLLM"))

    def test_a_registry_in_the_module_and_names_that_nobody_has(self):
        module = self.write("collect_one.py", """
            from helper import log_perf, WORKER_RESTART
            REGISTRY = [{"op": "one", "get_func": "cases", "run_func": "measure",
                         "perf_filename": "one_perf.txt"}]
            def cases(): return [1, 2]
            def measure(number, perf_filename):
                import helper
                try:
                    helper.no_such_name
                except AttributeError as error:
                    print(error)
                log_perf([{"number": number, "latency": 1}], "x", "1", "CPU", "one", "k",
                         perf_filename)
                return WORKER_RESTART
        """)
        done = self.worker("--device", "cpu", module=module, requests=[
            {"id": 1, "operator": "one", "case": [2]}])
        self.assertEqual(done.returncode, 10, done.stderr)
        self.assertIn('"table": "one_perf"', done.stdout)
        self.assertIn("helper has no 'no_such_name'", done.stderr)
        for entry, says in (('{"op": "one", "get_func": "cases"}', "'one' has no run_func"),
                            ('{"op": "one", "get_func": "no", "run_func": "measure"}',
                             "names no(), which")):
            module = self.write("collect_two.py", f"""
                REGISTRY = [{entry}]
                def cases(): return []
                def measure(): pass
            """)
            done = self.worker("--list", module=module)
            self.assertIn(says, json.loads(done.stdout)["fatal"])

    def test_one_runner_of_another_name_and_the_table_by_default(self):
        module = self.write("collect_near.py", """
            from helper import log_perf
            def get_generation_attention_test_cases(): return [[5]]
            def run_attention_torch(length, *, perf_filename, device):
                log_perf([{"length": length, "latency": 1}], "x", "1", "CPU", "a", "k",
                         perf_filename)
        """)
        done = self.worker("--device", "cpu", module=module, requests=[
            {"id": 1, "operator": "attention_generation", "case": [5]}])
        self.assertIn('"table": "generation_attention_perf"', done.stdout)

    def test_a_decorator_that_hides_the_names_of_arguments(self):
        module = self.write("collect_hidden.py", """
            from helper import log_perf
            def passed_on(function):
                def call(*args, **kwargs):
                    return function(*args, **kwargs)
                return call
            def get_hidden_test_cases(): return [[5]]
            @passed_on
            def run_hidden(length, *, perf_filename, device):
                log_perf([{"length": length, "latency": 1}], "x", "1", device, "a", "k",
                         perf_filename)
        """)
        done = self.worker("--device", "cpu", module=module, requests=[
            {"id": 1, "operator": "hidden", "case": [5]}])
        self.assertIn('"table": "hidden_perf"', done.stdout)
        self.assertIn('"device": "cpu"', done.stdout)

    def test_another_exit_is_an_error(self):
        module = self.write("collect_end.py", """
            import sys
            def get_end_test_cases(): return [[]]
            def run_end(): sys.exit("no licence")
        """)
        done = self.worker("--device", "cpu", module=module, requests=[
            {"id": 1, "operator": "end", "case": []}])
        self.assertIn("sys.exit('no licence')", done.stdout.splitlines()[-1])

    def test_draws_of_experts(self):
        sys.path.insert(0, str(PYTHON))
        import helper
        import helper_routing as routing
        self.assertEqual(helper.EXIT_CODE_RESTART, 10)
        self.assertIs(helper.power_law_logits_v3, routing.power_law_logits_v3)
        for tokens, experts, topk, ep in ((1, 8, 2, 1), (3, 8, 2, 4), (64, 128, 8, 4), (1000, 256, 8, 8),
                                          (5, 5, 5, 1)):
            draws = [(expert * 7 % experts + 1) ** -1.2 for expert in range(experts)]
            counts = routing.power_law_counts(draws, tokens, topk, ep)
            self.assertEqual(sum(counts), tokens * topk)
            self.assertLessEqual(max(counts), tokens)
            loads = [sum(counts[gpu * experts // ep:(gpu + 1) * experts // ep]) for gpu in range(ep)]
            self.assertEqual(loads[0], max(loads))
            balanced = routing.balanced_choices(tokens, experts, topk)
            for choices in (routing.choices_of(counts, tokens, topk), balanced):
                self.assertEqual(len(choices), tokens)
                self.assertTrue(all(len(set(chosen)) == topk for chosen in choices))
            used = [sum(chosen.count(expert) for chosen in balanced) for expert in range(experts)]
            self.assertLessEqual(max(used) - min(used), 1)
        with self.assertRaisesRegex(ValueError, "9 experts of 8"):
            routing.balanced_choices(4, 8, 9)
        with self.assertRaisesRegex(ValueError, "shared by 3 GPUs"):
            routing.power_law_counts([1] * 8, 4, 2, 3)
        # Many more tokens than the law gives to experts that are full: the others take them.
        counts = routing.power_law_counts([1000, 1, 1, 1], 100, 3, 1)
        self.assertEqual(counts[0], 100)
        self.assertEqual(sum(counts), 300)

    # With nothing set by hand: the engine lies where an installation has it.
    def test_alone_in_an_installation(self):
        prefix = self.folder / "assay"
        python = prefix / "share" / "assay" / "python"
        python.mkdir(parents=True)
        for file in PYTHON.glob("*.py"):
            shutil.copy(file, python)
        (prefix / "lib").mkdir()
        shutil.copy(os.environ["ASSAY_MEASURE_LIBRARY"], prefix / "lib" / "libassay_measure.so")
        (self.folder / "runs").mkdir()
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("ASSAY_MEASURE_LIBRARY", "PYTHONPATH")}
        done = subprocess.run(
            [sys.executable, python / "assay_module_worker.py", self.module, "--alone", "--device",
             "cpu", "sum_context"], text=True, capture_output=True, check=False,
            cwd=self.folder / "runs", env=environment)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("ValueError: no thousands", done.stderr)
        lines = (self.folder / "runs" / "sum_context_perf.txt").read_text().splitlines()
        self.assertEqual(len(lines), 3)
        self.assertFalse((self.folder / "runs" / "sum_generation_perf.txt").exists())
        done = subprocess.run(
            [sys.executable, python / "assay_module_worker.py", self.module, "sum", "--alone"],
            text=True, capture_output=True, check=False, env=environment)
        self.assertIn("no operator 'sum'; there are sum_context, sum_generation", done.stderr)

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
