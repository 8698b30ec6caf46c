"""Runs a module of the public collector's form for `assay collect --module`, or alone.

A module exports functions that return lists of cases, and functions that measure one case,
run_<op>(*case, device=...). Which belong together says a registry, in the module or in the file
registry.py beside it: an entry names `op`, `module`, `get_func`, `run_func` and `perf_filename`. Without
a registry get_<phase>_<op>_test_cases() goes with run_<op>. MODULE may be the registry itself.
`--list` prints operators and cases as JSON, `--alone` measures them and writes CSV files into the
present folder; otherwise this is a worker: it exchanges lines of JSON on standard input and output
(src/collect/worker/protocol.h).

  assay_module_worker.py MODULE --list
  assay_module_worker.py MODULE --device cuda:0 | cpu
  assay_module_worker.py MODULE --alone [--device cpu] [--limit N] [OPERATOR...]
"""
import argparse
import importlib
import importlib.metadata
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


NOTES = []  # what `--list` tells besides the operators


class ModuleError(Exception):
    """Something is missing in a module; the message is for its author."""


class Operator:
    """A list of cases and the function that measures one of them."""

    def __init__(self, name, getter, runner, perf_filename):
        self.name = name
        self.getter = getter
        self.runner = runner
        self.perf_filename = perf_filename
        self._cases = None

    def cases(self):
        """The lists of arguments; a registry may also wrap them in {"id": ..., "params": ...}."""
        if self._cases is None:
            cases = [case["params"] if isinstance(case, dict) else case for case in self.getter()]
            self._cases = [list(case) if isinstance(case, (list, tuple)) else [case]
                           for case in cases]
        return self._cases

    def run(self, case, device):
        """Measures a case. The file's name is among its arguments, or given by keyword."""
        signature = inspect.signature(self.runner)
        given = signature.bind_partial(*case).arguments
        known = {"device": device, "perf_filename": self.perf_filename}
        # A decorator may show nothing of the function that it passes all arguments on to.
        takes_any = any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())
        return self.runner(*case, **{name: value for name, value in known.items()
                                     if (takes_any or name in signature.parameters)
                                     and name not in given})


def collector_root(path):
    """The folder of the collector that the module is a part of: what it imports by names such as
    case_generator lies there. None for a module on its own."""
    for folder in path.parents:
        if (folder / "registry_types.py").is_file() or (folder / "case_generator.py").is_file():
            return folder
    return None


def prepare_imports(path):
    """Modules import files of their own folder and of their collector's; helper, also as
    collector.helper, is assay's."""
    root = collector_root(path)
    for folder in (root, path.parent):
        if folder is not None:
            sys.path.insert(1, str(folder))
    collector = types.ModuleType("collector")
    collector.__path__ = [] if root is None else [str(root)]
    collector.helper = helper
    sys.modules["collector"] = collector
    sys.modules["collector.helper"] = helper
    if root is not None:
        helper.use_own_helper(root / "helper.py")
    return root


def import_file(path, root):
    """Imports a file under the name that the others of its collector import it by."""
    if root is not None:
        parts = path.relative_to(root).with_suffix("").parts
        return importlib.import_module(".".join(("collector", *parts)))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def field(entry, name):
    return entry.get(name) if isinstance(entry, dict) else getattr(entry, name, None)


def numbers_of(version):
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


def module_name(entry, backend):
    """The module of an entry: of several, the first whose framework is not newer than the
    installed one."""
    if field(entry, "module"):
        return field(entry, "module")
    routes = list(field(entry, "versions") or [])
    package = {"trtllm": "tensorrt_llm"}.get(backend, backend)
    try:
        installed = numbers_of(importlib.metadata.version(package))
    except importlib.metadata.PackageNotFoundError:
        installed = None
    for route in routes:
        if installed is None or numbers_of(field(route, "min_version")) <= installed:
            return field(route, "module")
    raise ModuleError(f"the registry has no module of '{entry_name(entry)}' for this {package}")


def entry_name(entry):
    return field(entry, "op") or field(entry, "type") or field(entry, "name") or "?"


def registered(entry, module):
    """The operator of a registry's entry."""
    found = {}
    for name in ("get_func", "run_func"):
        word = field(entry, name)
        if not word:
            raise ModuleError(f"the registry's entry '{entry_name(entry)}' has no {name}")
        found[name] = getattr(module, str(word), None)
        if not callable(found[name]):
            raise ModuleError(f"the registry's entry '{entry_name(entry)}' names {word}(), which "
                              f"{module.__name__} does not have")
    table = field(entry, "perf_filename")
    return Operator(entry_name(entry), found["get_func"], found["run_func"],
                    str(table) if table else f"{entry_name(entry)}_perf.txt")


def by_name(module):
    """The operators of a module without a registry, by the names of its functions."""
    runners = [name for name in vars(module) if name.startswith("run_")]
    found = []
    for name, getter in list(vars(module).items()):
        match = GETTER.match(name)
        if match is None or not callable(getter) or inspect.isclass(getter):
            continue
        if getattr(getter, "__module__", module.__name__) != module.__name__:
            continue  # imported, as those of a case_generator
        phase, op = match.groups()
        runner = getattr(module, f"run_{op}", None)
        near = [run for run in runners if run.startswith(f"run_{op}")]
        if runner is None and len(near) == 1:
            runner = getattr(module, near[0])
        if runner is None:
            raise ModuleError(f"{module.__name__} has {name}() and no run_{op}()")
        table = f"{phase}_{op}" if phase else op
        found.append(Operator(f"{op}_{phase}" if phase else op, getter, runner,
                              f"{table}_perf.txt"))
    if not found:
        raise ModuleError(f"{module.__name__} has no get_..._test_cases() function")
    return found


def beside(path, root):
    """The registry of the module's folder, or None."""
    file = path.parent / "registry.py"
    return import_file(file, root) if file.is_file() and file != path else None


def operators_of_registry(registry, path, root):
    """All operators of a registry that is itself the module. One whose module cannot be imported
    here, or has no cases, is told of and left out."""
    found = []
    problems = []
    for entry in registry.REGISTRY:
        try:
            name = module_name(entry, path.parent.name)
            if "." not in name and root is None:
                module = import_file(path.parent / f"{name}.py", None)
            else:
                module = importlib.import_module(name)
            operator = registered(entry, module)
            operator.cases()
            found.append(operator)
        except Exception as error:  # whatever the code of a module raises
            problems.append(f"{entry_name(entry)}: {type(error).__name__}: {error}")
    NOTES.extend(f"left out: {problem}" for problem in problems)
    if not found:
        raise ModuleError(f"none of its operators can be used: {'; '.join(problems)}")
    return found


def operators_of(path):
    """Returns {name: Operator} of a file."""
    path = pathlib.Path(path).resolve()
    if not path.is_file():
        raise ModuleError(f"{path}: no such file")
    root = prepare_imports(path)
    module = import_file(path, root)
    entries = getattr(module, "REGISTRY", None)
    if entries is not None and any(field(entry, "module") not in (None, module.__name__, path.stem)
                                   or field(entry, "versions") for entry in entries):
        found = operators_of_registry(module, path, root)
    else:
        registry = None if entries is not None else beside(path, root)
        if entries is None and registry is not None:
            entries = [entry for entry in registry.REGISTRY
                       if path.stem in {str(name).rsplit(".", maxsplit=1)[-1] for name in
                                        [field(entry, "module"),
                                         *(field(route, "module")
                                           for route in field(entry, "versions") or [])]}]
        found = ([registered(entry, module) for entry in entries] if entries
                 else by_name(module))
    return {operator.name: operator for operator in found}


def as_json(case):
    """The case in JSON's types. Arguments of other types (such as enumerations) become texts."""
    return json.loads(json.dumps(list(case), default=str))


def list_operators(operators):
    return {"operators": [{"name": operator.name,
                           "cases": [as_json(case) for case in operator.cases()]}
                          for operator in operators.values()], "notes": NOTES}


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
    def __init__(self, operators, device, output):
        self.operators = operators
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
            self.cases[operator] = {json.dumps(as_json(known)): known
                                    for known in self.operators[operator].cases()}
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
        self.say({"id": self.id, "doing": "time"})
        operator = self.operators[request["operator"]]
        ends = run_case(operator, self.arguments(request["operator"], request["case"]),
                        self.device)
        self.say({"id": self.id, "done": True})
        return ends

    def fail(self, error):
        text = str(error)
        lost = (type(error).__name__ == "AcceleratorError" or
                any(words in text.lower() for words in LOST))
        self.say({"id": self.id,
                  "error": {"class": type(error).__name__, "message": text[:4000],
                            "traceback": traceback.format_exc()[-8000:], "lost": lost}})
        return lost


def device_argument(device):
    """The device as modules get it: torch.device for GPUs, as the public collector gives it."""
    if device == "cpu":
        return device
    import torch
    return torch.device(device)


def run_case(operator, case, device):
    """Measures a case. Returns whether the module asks for a new process, which gives back all
    memory of this one."""
    try:
        return operator.run(case, device_argument(device)) is helper.WORKER_RESTART
    except SystemExit as end:
        if end.code == helper.EXIT_CODE_RESTART:
            return True
        raise RuntimeError(f"the module ended the process by sys.exit({end.code!r})") from end


def serve(operators, device, output):
    worker = Worker(operators, device, output)
    worker.say({"hello": PROTOCOL_VERSION, "device": device_facts(device)})
    for line in sys.stdin:
        try:
            if worker.run(json.loads(line)):
                return helper.EXIT_CODE_RESTART
        except Exception as error:
            if worker.fail(error):
                return 1
    return 0


def measure_alone(operators, names, device, limit):
    """Measures all cases in this process; rows go into CSV files of the present folder."""
    unknown = [name for name in names if name not in operators]
    if unknown:
        raise ModuleError(f"no operator '{unknown[0]}'; there are {', '.join(operators)}")
    failed = 0
    for note in NOTES:
        print(f"assay: {note}", file=sys.stderr)
    for operator in operators.values():
        if names and operator.name not in names:
            continue
        for case in operator.cases()[:limit]:
            try:
                # That the process should end to give back memory cannot be granted here.
                run_case(operator, case, device)
            except Exception as error:
                failed += 1
                print(f"assay: {operator.name} {json.dumps(as_json(case))}: "
                      f"{type(error).__name__}: {error}", file=sys.stderr)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("module")
    parser.add_argument("operator", nargs="*", help="with --alone: only these")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--alone", action="store_true", help="measure all cases, into CSV files")
    parser.add_argument("--limit", type=int, help="with --alone: so many cases of an operator")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--engine", help="libassay_measure.so")
    options = parser.parse_intermixed_args()
    if options.engine:
        os.environ["ASSAY_MEASURE_LIBRARY"] = options.engine
    if options.alone:
        try:
            return measure_alone(operators_of(options.module), options.operator, options.device,
                                 options.limit)
        except ModuleError as error:
            sys.exit(f"assay: {error}")
    # Output of modules must not mix with the protocol, so that it goes to standard error.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        operators = operators_of(options.module)
        if options.list:
            json.dump(list_operators(operators), output)
            output.write("\n")
            return 0
        return serve(operators, options.device, output)
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
