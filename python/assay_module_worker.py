"""Runs a module of the public collector's form for `assay collect --module`.

A module exports get_<phase>_<op>_test_cases() functions, each a list of argument lists, and
run_<op>(*case, device=...). `--list` prints its operators and cases as JSON; without it this is a
worker: it exchanges lines of JSON on standard input and output (src/collect/worker/protocol.h).

  assay_module_worker.py MODULE --list
  assay_module_worker.py MODULE --device cuda:0 | cpu
"""
import argparse
import importlib.util
import inspect
import json
import numbers
import os
import pathlib
import platform
import re
import sys
import traceback
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import helper  # noqa: E402

GETTER = re.compile(r"get_(?:(context|generation)_)?(.+?)_test_cases$")
PROTOCOL_VERSION = 1
# After an error with one of these texts the process cannot use its GPU any more.
LOST = ("illegal memory access", "unspecified launch failure", "cuda_error_launch_failed",
        "device-side assert", "misaligned address", "cublas_status_execution_failed",
        "cublas_status_internal_error")


class ModuleError(Exception):
    """Something is missing in a module; the message is for its author."""


def load(path):
    path = pathlib.Path(path).resolve()
    if not path.is_file():
        raise ModuleError(f"{path}: no such file")
    # Modules import files of their own folder, and helper also as collector.helper.
    sys.path.insert(1, str(path.parent))
    collector = types.ModuleType("collector")
    collector.__path__ = []
    collector.helper = helper
    sys.modules.setdefault("collector", collector)
    sys.modules.setdefault("collector.helper", helper)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def operators_of(module):
    """Returns {name: (getter, runner)}: dsa_context has get_context_dsa_test_cases and run_dsa."""
    found = {}
    for name, getter in vars(module).items():
        match = GETTER.match(name)
        if match is None or not callable(getter):
            continue
        phase, op = match.groups()
        runner = getattr(module, f"run_{op}", None)
        if runner is None:
            raise ModuleError(f"{module.__name__} has {name}() and no run_{op}()")
        found[f"{op}_{phase}" if phase else op] = (getter, runner)
    if not found:
        raise ModuleError(f"{module.__name__} has no get_..._test_cases() function")
    return found


def as_json(case):
    """The case in JSON's types. Arguments of other types (such as enumerations) become texts."""
    return json.loads(json.dumps(list(case), default=str))


def list_operators(module):
    return {"operators": [{"name": name, "cases": [as_json(case) for case in getter()]}
                          for name, (getter, _) in operators_of(module).items()]}


def device_facts(device):
    facts = {"Python": platform.python_version()}
    if device == "cpu":
        return {"kind": "cpu", "name": platform.processor() or "CPU", "sm_version": 0,
                "framework": "module", "version": "", "count": 1, "facts": facts}
    import torch
    properties = torch.cuda.get_device_properties(device)
    facts["PyTorch"] = torch.__version__
    facts["CUDA"] = torch.version.cuda or ""
    return {"kind": "cuda", "name": properties.name,
            "sm_version": properties.major * 10 + properties.minor, "framework": "module",
            "version": torch.__version__, "count": 1, "facts": facts,
            "memory_bytes": properties.total_memory}


class Worker:
    def __init__(self, module, device, output):
        self.operators = operators_of(module)
        self.device = device
        self.output = output
        self.id = 0
        self.cases = {}  # {operator: {JSON of a case: its arguments}}, for requested operators
        helper.session.emit_row = self.emit_row

    def say(self, message):
        self.output.write(json.dumps(message) + "\n")
        self.output.flush()

    def emit_row(self, item, framework, version, device_name, op_name, kernel_source, table,
                 power_stats):
        latency = next((name for name in ("latency", "avg_ms") if name in item), None)
        if latency is None:
            raise ValueError(f"log_perf: no 'latency' among {', '.join(item)}")
        latency_ms = float(item.pop(latency))
        timing = helper.session.timing
        if timing is None:  # the module timed it itself
            timing = {name: latency_ms for name in ("median_ms", "mean_ms", "p10_ms", "p90_ms",
                                                    "low_ms", "high_ms")}
            timing.update(launches_per_sample=1, launch="eager", l2="hot", samples_ms=[])
        row = {"table": re.sub(r"\.(txt|csv|parquet)$", "", os.path.basename(table)),
               "framework": framework, "version": version, "device": device_name,
               "op_name": op_name, "kernel_source": kernel_source,
               "key": [[name, self.plain(value)] for name, value in item.items()],
               "latency_ms": latency_ms, "timing": timing, "conditions": helper.session.conditions}
        if power_stats:
            row["power_watts"] = power_stats["power"]
            row["power_limit_watts"] = power_stats["power_limit"]
        self.say({"id": self.id, "row": row})

    @staticmethod
    def plain(value):
        if isinstance(value, numbers.Integral):  # also those of NumPy
            return int(value)
        return float(value) if isinstance(value, numbers.Real) else str(value)

    def arguments(self, operator, case):
        if operator not in self.cases:
            getter, _ = self.operators[operator]
            self.cases[operator] = {json.dumps(as_json(known)): known for known in getter()}
        known = self.cases[operator].get(json.dumps(case))
        if known is None:
            raise ModuleError(f"{json.dumps(case)} is not among its test cases any more")
        return known

    def run(self, request):
        self.id = request["id"]
        helper.session.options = request.get("options", {})
        helper.session.measure_power = bool(request.get("measure_power", False))
        helper.session.power_seconds = float(request.get("power_seconds", 1))
        helper.session.timing = None
        helper.session.conditions = {}
        _, runner = self.operators[request["operator"]]
        self.say({"id": self.id, "doing": "time"})
        keywords = {}
        if "device" in inspect.signature(runner).parameters:
            keywords["device"] = self.device
        runner(*self.arguments(request["operator"], request["case"]), **keywords)
        self.say({"id": self.id, "done": True})

    def fail(self, error):
        text = str(error)
        lost = (type(error).__name__ == "AcceleratorError" or
                any(words in text.lower() for words in LOST))
        self.say({"id": self.id,
                  "error": {"class": type(error).__name__, "message": text[:4000],
                            "traceback": traceback.format_exc()[-8000:], "lost": lost}})
        return lost


def serve(module, device, output):
    worker = Worker(module, device, output)
    worker.say({"hello": PROTOCOL_VERSION, "device": device_facts(device)})
    for line in sys.stdin:
        try:
            worker.run(json.loads(line))
        except Exception as error:
            if worker.fail(error):
                return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("module")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--engine", help="libassay_measure.so")
    options = parser.parse_args()
    if options.engine:
        os.environ["ASSAY_MEASURE_LIBRARY"] = options.engine
    # Output of modules must not mix with the protocol, so that it goes to standard error.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        module = load(options.module)
        if options.list:
            json.dump(list_operators(module), output)
            output.write("\n")
            return 0
        return serve(module, options.device, output)
    except BrokenPipeError:
        return 1
    except Exception as error:
        reason = str(error) if isinstance(error, ModuleError) else traceback.format_exc(limit=-3)
        output.write(json.dumps({"fatal": reason}) + "\n")
        return 1
    finally:
        output.flush()


if __name__ == "__main__":
    sys.exit(main())
