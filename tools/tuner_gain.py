#!/usr/bin/env python3
"""What a table gains that `assay allreduce codegen` made for libassay_nccl_tuner.so: NCCL's collectives
in jobs of PyTorch, one process a GPU, in which the plugin answers from the table or leaves the call to
NCCL, alternating.

usage: tuner_gain.py TABLE -o FILE.csv [options]
       tuner_gain.py --summary FILE.csv... [--answers-of TABLE]
  TABLE              assay_nccl_tuner.conf
  --tp N,N           numbers of GPUs (default: 2,4,8 as far as there are GPUs), one job after the other
  --launch HOW       graph, eager or both (default both)
  --collectives OP,OP  of allreduce, allgather, reducescatter, broadcast (default all)
  --min-size BYTES, --max-size BYTES  (default 4096 and 134217728)
  --samples N        of each half (default 8)
  --plugin FILE      default: libassay_nccl_tuner.so in build/release/src or in the library's path
  --overwrite        replace FILE.csv
  --summary          only show what files say: for each number of GPUs, launch and collective the calls
                     that got an answer, and their gains
  --answers-of TABLE  leave out answers that TABLE does not give; it is a later table that has fewer
                     rows than the one that was measured, and is the same otherwise
Sizes are powers of two and those halfway between, of bfloat16; the size of a call is NCCL's, the larger
of what a rank sends and what it receives. A sample is about 400 us of calls, from a CUDA graph or one by
one, after a small all-reduce that lines up the ranks; its time is that of a call on the slowest rank.
Multicast is off (NCCL_NVLS_ENABLE=0) unless the variable says otherwise.

FILE.csv grows by a line a call:
  world_size, launch, op, size (bytes)
  own ran, table ran  what NCCL ran by itself and with the table (RING_LL_8); empty where it does not tell
  answered            how often the plugin answered from the table when it was asked; 0: it left the
                      call to NCCL
  own (us), table (us)  medians of the samples
  gain (%)            how much longer NCCL's own choice takes: own / table - 1
  result              ok, or wrong: one of the halves gave a wrong result and has no time. Inputs are
                      whole numbers whose sums are exact, so results are compared to the bit. Files of
                      before may have `unchecked`.
"""
import argparse
import csv
import ctypes
import datetime
import os
import pathlib
import random
import statistics
import sys
import tempfile

COLUMNS = ["world_size", "launch", "op", "size", "own ran", "table ran", "answered", "own (us)",
           "table (us)", "gain (%)", "result"]
COLLECTIVES = ("allreduce", "allgather", "reducescatter", "broadcast")
LAUNCHES = {"graph": ("graph",), "eager": ("eager",), "both": ("eager", "graph")}
SIZES_OF_GPUS = (2, 4, 8)
HALVES = ("own", "table")
ELEMENT_BYTES = 2
SAMPLE_US = 400.0
FEWEST_CALLS, MOST_CALLS = 3, 100
WATCHDOG_S = 180  # of PyTorch, which then ends the job


class Order(ctypes.Structure):
    """TunerOrder of src/allreduce/tuner/control.h"""
    _fields_ = [("mode", ctypes.c_int), ("algorithm", ctypes.c_int), ("protocol", ctypes.c_int),
                ("channels", ctypes.c_int), ("watch", ctypes.c_bool)]


class Seen(ctypes.Structure):
    """TunerSeen of src/allreduce/tuner/control.h"""
    _fields_ = [("asked", ctypes.c_uint64), ("answered", ctypes.c_uint64),
                ("ignored", ctypes.c_uint64), ("ran", ctypes.c_uint64), ("alike", ctypes.c_bool),
                ("algorithm", ctypes.c_char * 16), ("protocol", ctypes.c_char * 16),
                ("channels", ctypes.c_int)]


class Tuner:
    """The plugin in this process, told from which half the next calls are."""
    MODES = {"table": 0, "own": 1}

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))
        self._library.assay_nccl_tuner_order.argtypes = [ctypes.POINTER(Order)]
        self._library.assay_nccl_tuner_seen.argtypes = [ctypes.POINTER(Seen)]

    def order(self, half, watch=False):
        """Only while no call of NCCL is being made."""
        self._library.assay_nccl_tuner_order(ctypes.byref(Order(mode=self.MODES[half], channels=-1,
                                                                watch=watch)))

    def seen(self):
        """What happened since the last order."""
        seen = Seen()
        self._library.assay_nccl_tuner_seen(ctypes.byref(seen))
        return seen


def ran_text(seen):
    """"RING_LL_8"; "" where NCCL does not tell, or ran its calls differently."""
    if seen.ran == 0 or not seen.alike:
        return ""
    return f"{seen.algorithm.decode()}_{seen.protocol.decode()}_{seen.channels}"


def sizes_between(least, most):
    """Powers of two and those halfway between."""
    sizes = []
    power = 1024
    while power <= most:
        sizes += [size for size in (power, power // 2 * 3) if least <= size <= most]
        power *= 2
    return sizes


def calls_of_sample(microseconds):
    """How many calls take about as long as a sample should."""
    return min(MOST_CALLS, max(FEWEST_CALLS, int(SAMPLE_US / max(microseconds, 1.0))))


def measure_call(rank, samples, dice):
    """One call: a dictionary of the last columns. `rank` is this rank's part of it (see TorchRank); the
    dice fall alike on all ranks."""
    facts = {half: rank.prepare(half) for half in HALVES}
    times = {half: [] for half in HALVES}
    right = rank.all_agree(all(facts[half].right for half in HALVES))
    for number in range(samples + 1 if right else 0):
        for half in dice.sample(HALVES, len(HALVES)):
            time_us = rank.sample(half)
            if number > 0:  # the first is a warm-up
                times[half].append(time_us)
    medians = {half: statistics.median(rank.slowest(times[half])) if right else None
               for half in HALVES}
    return {"own ran": facts["own"].ran, "table ran": facts["table"].ran,
            "answered": facts["table"].answered, **call_figures(medians),
            "result": "ok" if right else "wrong"}


def call_figures(medians):
    """The columns of times of a call whose halves' medians are these; None where there are none."""
    if None in medians.values():
        return {"own (us)": "", "table (us)": "", "gain (%)": ""}
    return {"own (us)": round(medians["own"], 3), "table (us)": round(medians["table"], 3),
            "gain (%)": round(100 * (medians["own"] / medians["table"] - 1), 2)}


class Facts:
    """What is known of a half before it is timed."""

    def __init__(self, right, seen):
        self.right = right
        self.ran = ran_text(seen)
        self.answered = seen.answered


class TorchRank:
    """This process's part of one call, with its data."""

    def __init__(self, tuner, launch, collective, size):
        import torch
        import torch.distributed as dist
        self.torch, self.dist = torch, dist
        self.tuner, self.launch, self.collective = tuner, launch, collective
        ranks = dist.get_world_size()
        elements = size // ELEMENT_BYTES
        part = elements // ranks
        self.source = self._numbers(dist.get_rank(), part if collective == "allgather" else elements)
        self.input = self.source.clone()
        self.output = self.input  # of allreduce and broadcast, which work in place
        if collective in ("allgather", "reducescatter"):
            self.output = self.source.new_empty(elements if collective == "allgather" else part)
        self.expected = self._expected(ranks, elements, part)
        self.tiny = self.source.new_zeros(8)
        self.graphs = {}
        self.count = FEWEST_CALLS

    def _numbers(self, rank, count):
        """Whole numbers from -8 to 8: sums over 8 ranks are exact in bfloat16."""
        places = self.torch.arange(count, device="cuda", dtype=self.torch.int64)
        return ((places * 7 + places // 17 + rank * 5) % 17 - 8).to(self.torch.bfloat16)

    def _expected(self, ranks, elements, part):
        if self.collective == "broadcast":
            return self._numbers(0, elements)
        if self.collective == "allgather":
            return self.torch.cat([self._numbers(rank, part) for rank in range(ranks)])
        total = sum(self._numbers(rank, elements) for rank in range(ranks))
        if self.collective == "allreduce":
            return total
        return total[self.dist.get_rank() * part:][:part]

    def _call(self):
        if self.collective == "allreduce":
            self.dist.all_reduce(self.input)
        elif self.collective == "broadcast":
            self.dist.broadcast(self.input, 0)
        elif self.collective == "allgather":
            self.dist.all_gather_into_tensor(self.output, self.input)
        else:
            self.dist.reduce_scatter_tensor(self.output, self.input)

    def _calls(self, count):
        for _ in range(count):
            self._call()

    def _captured(self, count):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._calls(count)
        return graph

    def _run_watched(self, half):
        """A call of this launch on fresh data: whether its result is right, and what the plugin saw."""
        self.input.copy_(self.source)
        if self.output is not self.input:
            self.output.fill_(99)
        # No rank's call writes into another before that one's data are made.
        self.dist.barrier()
        self.torch.cuda.synchronize()
        self.tuner.order(half, watch=True)
        graph = self._captured(1) if self.launch == "graph" else None
        if graph is not None:
            graph.replay()
        else:
            self._call()
        self.torch.cuda.synchronize()
        seen = self.tuner.seen()
        self.tuner.order(half)
        return Facts(bool((self.output == self.expected).all().item()), seen)

    def prepare(self, half):
        """Checks a half, and makes its graph."""
        self.tuner.order(half)
        self._calls(1)  # NCCL connects what it needs, outside of graphs
        self.torch.cuda.synchronize()
        if half == HALVES[0]:
            self.count = calls_of_sample(max(self.slowest([self._timed(
                lambda: self._calls(FEWEST_CALLS), FEWEST_CALLS)])))
        facts = self._run_watched(half)
        if self.launch == "graph":
            self.graphs[half] = self._captured(self.count)
        return facts

    def _timed(self, run, count):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.torch.cuda.synchronize()
        self.dist.all_reduce(self.tiny)
        begin.record()
        run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 / count

    def sample(self, half):
        """Microseconds of a call on this rank."""
        self.tuner.order(half)
        if self.launch == "graph":
            return self._timed(self.graphs[half].replay, self.count)
        return self._timed(lambda: self._calls(self.count), self.count)

    def slowest(self, times):
        """For each sample the time of the slowest rank."""
        shared = self.torch.tensor(times, device="cuda", dtype=self.torch.float64)
        self.dist.all_reduce(shared, op=self.dist.ReduceOp.MAX)
        return shared.tolist()

    def all_agree(self, is_so):
        """Whether it is so on all ranks."""
        return self.slowest([0.0 if is_so else 1.0]) == [0.0]


def work(number, ranks, meeting, options):
    """The process of a rank: all calls of one number of GPUs."""
    import torch
    import torch.distributed as dist
    torch.cuda.set_device(number)
    dist.init_process_group("nccl", init_method=f"file://{meeting}", rank=number, world_size=ranks,
                            timeout=datetime.timedelta(seconds=WATCHDOG_S),
                            device_id=torch.device("cuda", number))
    tuner = Tuner(options.plugin)
    dice = random.Random(ranks)
    for launch in LAUNCHES[options.launch]:
        for collective in options.collectives:
            for size in sizes_between(options.min_size, options.max_size):
                row = measure_call(TorchRank(tuner, launch, collective, size), options.samples, dice)
                if number == 0:
                    append(options.output, {"world_size": ranks, "launch": launch, "op": collective,
                                            "size": size, **row})
    dist.destroy_process_group()


def append(path, row):
    """Adds a line, so that what is measured stays whatever comes."""
    with open(path, "a", encoding="utf-8", newline="") as file:
        csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)


def begin_file(path, overwrite):
    """The header."""
    try:
        with open(path, "w" if overwrite else "x", encoding="utf-8", newline="") as file:
            csv.DictWriter(file, COLUMNS, lineterminator="\n").writeheader()
    except FileExistsError:
        sys.exit(f"{path} is there already: use --overwrite, or another -o")
    except OSError as error:
        sys.exit(f"cannot write {path}: {error.strerror}")


def read_rows(path):
    """The rows of a file, with numbers as numbers."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames != COLUMNS:
                sys.exit(f"{path} has no header of this program's files")
            rows = list(reader)
    except OSError as error:
        sys.exit(f"cannot read {path}: {error.strerror}")
    except (UnicodeDecodeError, csv.Error):
        sys.exit(f"{path} is not text")
    for number, row in enumerate(rows, 2):
        try:
            row.update({name: float(row[name]) if row[name] else None
                        for name in ("own (us)", "table (us)", "gain (%)")},
                       world_size=int(row["world_size"]), size=int(row["size"]),
                       answered=int(row["answered"]))
        except (TypeError, ValueError):
            sys.exit(f"{path}, line {number}: not a row of this program's files")
    return rows


def read_table(path):
    """The calls that a table answers: (collective, least size, most size, GPUs, launch)."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        sys.exit(f"cannot read {path}: {error.strerror}")
    except UnicodeDecodeError:
        sys.exit(f"{path} is not text")
    answers = []
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        try:
            op, least, most, _, _, _, _, ranks, _, registered = line.split(",")
            answers.append((op, int(least), int(most), int(ranks), "graph" if registered == "1" else "eager"))
        except ValueError:
            sys.exit(f"{path}, line {number}: not a row of a table for libassay_nccl_tuner.so")
    return answers


def leave_out_others(rows, answers):
    """Takes answers that are none of these out of the rows: the call has no answer and no gain."""
    for row in rows:
        given = any(op == row["op"] and least <= row["size"] <= most and ranks == row["world_size"]
                    and launch == row["launch"] for op, least, most, ranks, launch in answers)
        if row["answered"] and not given:
            row.update({"answered": 0, "gain (%)": None})


def size_text(size):
    """"24 KiB"."""
    unit, name = (1 << 20, "MiB") if size >= 1 << 20 else (1 << 10, "KiB")
    return f"{size / unit:g} {name}"


def summary(rows):
    """A line for each launch, number of GPUs and collective: launch, calls answered of all, median,
    least and largest gain with its call. Then the noise: the gains where nothing was answered."""
    groups = {}
    for row in rows:
        groups.setdefault((row["launch"], row["world_size"], row["op"]), []).append(row)
    lines = ["| launch | GPUs | collective | calls answered | median gain | least | largest |",
             "|---|---|---|---|---|---|---|"]
    for (launch, ranks, op), group in groups.items():
        timed = sorted((row for row in group if row["answered"] and row["gain (%)"] is not None),
                       key=lambda row: row["gain (%)"])
        head = f"| {launch} | {ranks} | {op} | {len(timed)} of {len(group)} |"
        if not timed:
            lines.append(head + " | | |")
            continue
        most = timed[-1]
        gain = statistics.median(row["gain (%)"] for row in timed)
        lines.append(f"{head} {gain:.1f} % | {timed[0]['gain (%)']:.1f} % | {most['gain (%)']:.1f} % "
                     f"({size_text(most['size'])}: {most['own (us)']:.1f} → {most['table (us)']:.1f} µs) |")
    for launch in dict.fromkeys(row["launch"] for row in rows):
        same = [row["gain (%)"] for row in rows if row["launch"] == launch and not row["answered"]
                and row["gain (%)"] is not None]
        if same:
            lines.append(f"{launch}: {len(same)} calls without an answer differ by {min(same):.1f} to "
                         f"{max(same):.1f} % between the halves, which is the noise")
    wrong = sum(row["result"] == "wrong" for row in rows)
    lines.append(f"{wrong} calls gave wrong results" if wrong else "no call gave a wrong result")
    return lines


def find_plugin(named):
    """The plugin's file."""
    if named:
        if named.is_file():
            return named.resolve()
        sys.exit(f"--plugin: {named} is not a file")
    name = "libassay_nccl_tuner.so"
    source = pathlib.Path(__file__).resolve().parent.parent
    folders = [source / "build/release/src", source / "build/dev/src",
               *map(pathlib.Path, filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))),
               pathlib.Path("/usr/lib"), pathlib.Path("/usr/local/lib")]
    for folder in folders:
        if (folder / name).is_file():
            return (folder / name).resolve()
    sys.exit(f"there is no {name} in {folders[0]} or the library's path: name it with --plugin")


def numbers(text):
    """2,4 as a list."""
    return [int(number) for number in text.split(",")]


def collectives(text):
    """Names that there are."""
    for name in text.split(","):
        if name not in COLLECTIVES:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(COLLECTIVES)}")
    return text.split(",")


def parse(arguments):
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("table", nargs="?", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    parser.add_argument("--tp", type=numbers)
    parser.add_argument("--launch", choices=LAUNCHES, default="both")
    parser.add_argument("--collectives", type=collectives, default=list(COLLECTIVES))
    parser.add_argument("--min-size", type=int, default=4 << 10)
    parser.add_argument("--max-size", type=int, default=128 << 20)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--plugin", type=pathlib.Path)
    parser.add_argument("--overwrite", action="store_true")
    parser.add_argument("--summary", nargs="+", type=pathlib.Path, metavar="FILE.csv")
    parser.add_argument("--answers-of", type=pathlib.Path, metavar="TABLE")
    options = parser.parse_args(arguments)
    if options.summary:
        return options
    if options.table is None or options.output is None:
        parser.error("name the TABLE and -o FILE.csv, or files with --summary; -h tells more")
    if not options.table.is_file():
        parser.error(f"{options.table} is not a file: 'assay allreduce codegen' writes it")
    if options.samples < 1 or not sizes_between(options.min_size, options.max_size):
        parser.error("nothing to measure")
    return options


def world_sizes(named):
    """The numbers of GPUs to measure with."""
    import torch
    there = torch.cuda.device_count()
    chosen = named or [ranks for ranks in SIZES_OF_GPUS if ranks <= there]
    if not chosen or max(chosen) > there or min(chosen) < 2:
        sys.exit(f"--tp {','.join(map(str, chosen)) or 'of 2 and more'}: there are {there} GPUs")
    return chosen


def set_variables(options):
    """For NCCL, which reads them when a rank's process starts."""
    os.environ["NCCL_TUNER_PLUGIN"] = str(options.plugin)
    os.environ["NCCL_PROFILER_PLUGIN"] = str(options.plugin)
    os.environ["ASSAY_NCCL_TUNER_FILE"] = str(options.table.resolve())
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")


def measure(options):
    """All jobs, one after the other."""
    options.plugin = find_plugin(options.plugin)
    try:
        import torch.multiprocessing as processes
    except ImportError:
        sys.exit("this needs PyTorch with CUDA")
    chosen = world_sizes(options.tp)
    set_variables(options)
    begin_file(options.output, options.overwrite)
    for ranks in chosen:
        print(f"{ranks} GPUs", file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="tuner-gain-") as folder:
            processes.spawn(work, (ranks, os.path.join(folder, "meeting"), options), nprocs=ranks)


def main():
    """The program."""
    options = parse(sys.argv[1:])
    if not options.summary:
        measure(options)
    files = options.summary or [options.output]
    rows = [row for path in files for row in read_rows(path)]
    if options.answers_of:
        leave_out_others(rows, read_table(options.answers_of))
    print("\n".join(summary(rows)))


if __name__ == "__main__":
    main()
