"""The helper that modules of `assay collect --module` import: timing and logging of one case.

Same names, arguments and results as the helper of the public collector, on assay's engine
(libassay_measure.so, include/assay/measure.h): more samples where the median is not yet certain, and
every sample is kept. Outside `assay collect` rows are appended to CSV files. Names that only the
helper of a module's own collector has (its draws of experts, its paths of models) come from there.
"""
import contextlib
import csv
import ctypes
import fcntl
import functools
import importlib.util
import io
import os
import pathlib
import sys
import time

# A module ends its process with this code, or returns WORKER_RESTART, when a case is done and it
# wants all memory to be given back.
EXIT_CODE_RESTART = 10
MOST_SAMPLES = 4096
_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class _Request(ctypes.Structure):
    _fields_ = [("launch", _LAUNCH), ("context", ctypes.c_void_p),
                ("cuda_graph", ctypes.c_void_p), ("cuda_stream", ctypes.c_void_p),
                ("on_gpu", ctypes.c_int32), ("num_warmups", ctypes.c_int64),
                ("num_runs", ctypes.c_int64), ("repeat_n", ctypes.c_int64),
                ("min_samples", ctypes.c_int64), ("max_samples", ctypes.c_int64),
                ("certainty", ctypes.c_double), ("min_time_ms", ctypes.c_double),
                ("max_time_ms", ctypes.c_double), ("sample_ms", ctypes.c_double)]


class _Result(ctypes.Structure):
    _fields_ = [("median_ms", ctypes.c_double), ("mean_ms", ctypes.c_double),
                ("p10_ms", ctypes.c_double), ("p90_ms", ctypes.c_double),
                ("low_ms", ctypes.c_double), ("high_ms", ctypes.c_double),
                ("launches_per_sample", ctypes.c_int64), ("samples", ctypes.c_int64),
                ("eager", ctypes.c_int32), ("message", ctypes.c_char * 256),
                ("samples_ms", ctypes.c_double * MOST_SAMPLES)]


class _State(ctypes.Structure):
    _fields_ = [("sm_mhz", ctypes.c_int64), ("memory_mhz", ctypes.c_int64),
                ("temperature_celsius", ctypes.c_double), ("power_limit_watts", ctypes.c_double),
                ("slowed", ctypes.c_int32)]


class WorkerRestartSignal:
    """The type of WORKER_RESTART."""


WORKER_RESTART = WorkerRestartSignal()


class PerfLogError(RuntimeError):
    """A measured row could not be kept."""


class _OwnHelper:
    """The helper of the collector that the module is a part of, loaded when it is first needed."""

    path = None  # of the file

    @classmethod
    @functools.lru_cache(maxsize=1)
    def load(cls):
        if cls.path is None or not cls.path.is_file():
            return None
        spec = importlib.util.spec_from_file_location("collector_own_helper", cls.path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["collector_own_helper"] = module
        spec.loader.exec_module(module)
        return module


def use_own_helper(path):
    """Names that this helper does not have come from that file."""
    _OwnHelper.path = path
    _OwnHelper.load.cache_clear()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    own = _OwnHelper.load()
    if own is not None and hasattr(own, name):
        return getattr(own, name)
    import helper_routing
    if hasattr(helper_routing, name):
        return getattr(helper_routing, name)
    raise AttributeError(f"assay's helper has no '{name}', and the module is in no folder of a "
                         "collector that has one")


class _Session:
    """The request of `assay collect` for the present case, or the defaults without it."""

    def __init__(self):
        self.emit_row = None  # a function that takes a row; the worker sets it
        self.options = {}
        self.measure_power = False
        self.power_seconds = 1.0
        self.timing = None  # timing of the last benchmark
        self.conditions = {}


session = _Session()


def _engine_places():
    """Where the engine may lie: in an installation two folders above share/assay/python, in a build
    beside the link to this folder, in a wheel beside this folder."""
    name = "libassay_measure.so"
    if os.environ.get("ASSAY_MEASURE_LIBRARY"):
        yield pathlib.Path(os.environ["ASSAY_MEASURE_LIBRARY"])
    for file in (pathlib.Path(__file__).resolve(), pathlib.Path(__file__).absolute()):
        yield file.parents[1] / "lib" / f"{name}.0"  # in a wheel
        prefix = file.parents[3] if len(file.parents) > 3 else file.parent
        yield prefix / "lib" / name
        yield prefix / "lib64" / name
        yield from sorted(prefix.glob(f"lib/*-linux-gnu/{name}"))


def _load_engine():
    for place in _engine_places():
        if place.exists():
            return ctypes.CDLL(str(place))
    raise ImportError("libassay_measure.so was not found; ASSAY_MEASURE_LIBRARY may name it")


_engine = None


def _library():
    global _engine
    if _engine is None:
        _engine = _load_engine()
        _engine.assay_measure_open_sensors.restype = ctypes.c_void_p
        _engine.assay_measure_read_energy.restype = ctypes.c_double
    return _engine


class Sensors:
    """Reads clocks, temperature and energy of one GPU, which a PCI bus id or UUID names."""

    _opened = {}  # {GPU: sensors}, because opening takes far longer than reading

    @classmethod
    def of(cls, gpu):
        if gpu not in cls._opened:
            cls._opened[gpu] = cls(gpu)
        return cls._opened[gpu]

    def __init__(self, gpu):
        why = ctypes.create_string_buffer(256)
        self._handle = _library().assay_measure_open_sensors(gpu.encode(), why, len(why))
        if not self._handle:
            print(f"helper: no clocks or energy: {why.value.decode(errors='replace')}",
                  file=sys.stderr)

    def read(self):
        """Returns {name: value} of the driver's readings; empty without sensors."""
        state = _State()
        if not self._handle or _library().assay_measure_read_sensors(
                ctypes.c_void_p(self._handle), ctypes.byref(state)) != 0:
            return {}
        told = {name: getattr(state, name) for name, _ in _State._fields_}
        return {name: value for name, value in told.items() if value >= 0}

    def energy_joules(self):
        """Returns the joules since the driver was loaded, or None if it does not count them."""
        if not self._handle:
            return None
        joules = _library().assay_measure_read_energy(ctypes.c_void_p(self._handle))
        return joules if joules >= 0 else None


def _conditions(before, after):
    """The conditions of a row. Throttled: the driver says so, or the SM clock fell by a tenth."""
    slower = after.get("sm_mhz", 0) < 0.9 * before.get("sm_mhz", 0)
    conditions = {"throttled": bool(after.get("slowed")) or slower}
    for name in ("sm_mhz", "memory_mhz"):
        for when, state in (("before", before), ("after", after)):
            if name in state:
                conditions[f"{name}_{when}"] = state[name]
    if "temperature_celsius" in after:
        conditions["temperature_celsius"] = after["temperature_celsius"]
    return conditions


def _measure(request):
    result = _Result()
    if _library().assay_measure(ctypes.byref(request), ctypes.byref(result)) != 0:
        raise RuntimeError(result.message.decode(errors="replace"))
    return result


def _timing_of(result, repeat_n):
    """The timing of one call of the kernel function, for a row of the worker's protocol."""
    scale = 1.0 / repeat_n
    timing = {name: getattr(result, name) * scale
              for name in ("median_ms", "mean_ms", "p10_ms", "p90_ms", "low_ms", "high_ms")}
    timing["launches_per_sample"] = result.launches_per_sample * repeat_n
    timing["launch"] = "eager" if result.eager else "graph"
    timing["l2"] = "hot"
    timing["samples_ms"] = [time * scale for time in result.samples_ms[:result.samples]]
    return timing


class _Callback:
    """Wraps a Python function for the engine, and keeps the exception that it raises."""

    def __init__(self, function):
        self.error = None

        def call(_context):
            try:
                function()
                return 0
            except BaseException as error:  # no exception may pass through C++
                self.error = error
                return 1

        self.pointer = _LAUNCH(call)


class _Gpu:
    """The part of timing on a GPU that needs PyTorch."""

    def __init__(self, device):
        import torch
        self.torch = torch
        self.device = torch.device(device)
        torch.cuda.set_device(self.device)
        self.stream = torch.cuda.current_stream(self.device)
        about = torch.cuda.get_device_properties(self.device)
        self.sensors = Sensors.of(f"{about.pci_domain_id:08x}:{about.pci_bus_id:02x}:"
                                  f"{about.pci_device_id:02x}.0")

    def synchronize(self):
        self.torch.cuda.synchronize(self.device)

    def capture(self, function, repeat_n):
        graph = self.torch.cuda.CUDAGraph(keep_graph=True)
        with self.torch.cuda.graph(graph):
            for _ in range(repeat_n):
                function()
        return graph

    def forget(self, graph):
        if graph is not None:
            graph.reset()
        self.torch.cuda.empty_cache()


def _request(num_warmups, num_runs):
    """The options of the collection, with at least the caller's number of runs."""
    asked = session.options
    request = _Request()
    request.num_warmups = num_warmups
    request.num_runs = min(int(asked.get("num_runs", 0)), MOST_SAMPLES)
    request.repeat_n = int(asked.get("repeat_n", 0))
    request.min_samples = min(max(int(num_runs), 1), MOST_SAMPLES)
    request.max_samples = max(int(asked.get("max_samples", 400)), int(num_runs))
    request.certainty = float(asked.get("certainty", 0.01))
    request.min_time_ms = float(asked.get("min_time_ms", 2))
    request.max_time_ms = float(asked.get("max_time_ms", 200))
    request.sample_ms = float(asked.get("sample_ms", 1))
    return request


def _time(gpu, kernel_func, request, repeat_n, use_cuda_graph, allow_graph_fail):
    """Returns (result, calls in a launch, request for launching again, objects to keep)."""
    callback = _Callback(kernel_func)
    graph = None
    request.launch = callback.pointer
    per_launch = 1
    if gpu is not None:
        request.on_gpu = 1
        request.cuda_stream = gpu.stream.cuda_stream
        for _ in range(max(request.num_warmups, 1)):
            kernel_func()
        gpu.synchronize()
        if use_cuda_graph:
            try:
                graph = gpu.capture(kernel_func, repeat_n)
                request.cuda_graph = graph.raw_cuda_graph()
                per_launch = repeat_n
            except Exception:
                if not allow_graph_fail:
                    raise
                gpu.forget(None)
    try:
        result = _measure(request)
    except RuntimeError:
        if callback.error is not None:
            raise callback.error
        raise
    return result, per_launch, (callback, graph)


def _power(gpu, request, result, seconds):
    """Returns the mean power of runs that last `seconds`, from the energy counter."""
    if gpu is None:
        return None
    launches = max(int(result.launches_per_sample), 1)
    request.num_runs = 64
    request.repeat_n = launches
    request.num_warmups = 0
    start_s = time.monotonic()
    before = gpu.sensors.energy_joules()
    elapsed_s = 0
    while elapsed_s < seconds:
        _measure(request)
        elapsed_s = time.monotonic() - start_s
    after = gpu.sensors.energy_joules()
    if before is None or after is None:
        return None
    return {"power": (after - before) / elapsed_s,
            "power_limit": gpu.sensors.read().get("power_limit_watts")}


@contextlib.contextmanager
def benchmark_with_power(device, kernel_func, num_warmups=3, num_runs=6, repeat_n=1,
                         measure_power=None, power_min_duration=None, allow_graph_fail=False,
                         use_cuda_graph=True):
    """Times kernel_func; yields latency_ms (of one call), power_stats, throttled,
    num_runs_executed and used_cuda_graph."""
    measure_power = session.measure_power if measure_power is None else measure_power
    seconds = session.power_seconds if power_min_duration is None else power_min_duration
    gpu = None if str(device).startswith("cpu") else _Gpu(device)
    request = _request(num_warmups, num_runs)
    before = gpu.sensors.read() if gpu else {}
    result, per_launch, alive = _time(gpu, kernel_func, request, repeat_n, use_cuda_graph,
                                      allow_graph_fail)
    session.timing = _timing_of(result, per_launch)
    session.conditions = _conditions(before, gpu.sensors.read()) if gpu else {}
    power = _power(gpu, request, result, seconds) if measure_power else None
    try:
        yield {"latency_ms": session.timing["median_ms"], "power_stats": power,
               "throttled": session.conditions.get("throttled", False),
               "num_runs_executed": int(result.samples),
               "used_cuda_graph": not result.eager}
    finally:
        if gpu is not None:
            gpu.forget(alive[1])


def _append_csv(path, header, line):
    """Appends under a lock, and to disk. A table keeps its first header."""
    def text(fields):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerow(fields)
        return out.getvalue()

    with open(path, "a+", encoding="utf-8", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        first = file.readline()
        if first and first != text(header):
            raise ValueError(f"{path}: its header is {first.strip()!r}, "
                             f"not {text(header).strip()!r}")
        file.seek(0, os.SEEK_END)
        file.write(("" if first else text(header)) + text(line))
        file.flush()
        os.fsync(file.fileno())


def log_perf(item_list, framework, version, device_name, op_name, kernel_source, perf_filename,
             power_stats=None):
    """Writes a row for each item. Its last column is the latency in milliseconds."""
    for item in item_list:
        if session.emit_row is not None:
            session.emit_row(dict(item), framework, str(version), device_name, op_name,
                             kernel_source, perf_filename, power_stats)
            continue
        common = {"framework": framework, "version": version, "device": device_name,
                  "op_name": op_name, "kernel_source": kernel_source}
        row = {**common, **item}
        if power_stats:
            row["power"] = power_stats["power"]
            row["power_limit"] = power_stats["power_limit"]
        _append_csv(os.fspath(str(perf_filename)), list(row), list(row.values()))
    return True


@contextlib.contextmanager
def power_monitoring_only(device, measure_power=None):
    """For kernels that a module times itself. Yields None: power is benchmark_with_power()'s."""
    yield None


def create_test_case_id(test_case, test_type, module_name):
    return f"{module_name}:{test_type}:{test_case}"


def get_device_module():
    import torch
    return torch.cuda


def get_device_str():
    return "cuda"


def get_sm_version():
    """Returns the compute capability of the current GPU as one number: 90."""
    import torch
    major, minor = torch.cuda.get_device_capability()
    return major * 10 + minor


if __name__ == "__main__":
    sys.exit("this is a module for collect_*.py files; see `assay collect --help`")
