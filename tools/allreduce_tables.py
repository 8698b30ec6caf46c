#!/usr/bin/env python3
"""The tables of docs/performance.md about all-reduce, as Markdown, from what tools/measure_host.sh made.

usage: allreduce_tables.py [FOLDER]     (default samples/allreduce-h200)

Of every number of GPUs that FOLDER has: bfloat16, hidden size 4096, microseconds. A part that was not
measured is a dash.
"""
import csv
import pathlib
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
HIDDEN = 4096
OWN = ("ONESHOT", "TWOSHOT_PUSH", "TWOSHOT")
FUSED = "RESIDUAL_RMS_NORM"
KIB = 1024
MIB = 1024 * KIB

# GB/s, as usable_rate() in src/allreduce/strategy.cc.
LINK_GB_PER_S = {2: 361, 4: 351}

TO_REACH_US = {
    2: {8 * KIB: 2.6, 64 * KIB: 3.0, 256 * KIB: 3.6, MIB: 5.9, 2 * MIB: 9, 8 * MIB: 29},
    4: {8 * KIB: 2.9, 64 * KIB: 3.5, 128 * KIB: 3.9, 256 * KIB: 5.0, 512 * KIB: 6.4, MIB: 10, 2 * MIB: 15,
        8 * MIB: 44, 16 * MIB: 74.5, 32 * MIB: 146.7, 64 * MIB: 290.1, 128 * MIB: 575.2},
    8: {8 * KIB: 3.5, 64 * KIB: 4.5, 256 * KIB: 7, MIB: 10.5, 2 * MIB: 15.5, 4 * MIB: 26, 8 * MIB: 47,
        16 * MIB: 90},
}


def rows_of(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    if any(None in row or None in row.values() for row in rows):
        raise ValueError(f"a line of {path.name} has too few or too many values")
    return rows


class Benchmark:
    """A file of `assay allreduce bench`."""

    def __init__(self, path):
        self.rows = {}  # by fusion and bytes, then by strategy
        for row in rows_of(path):
            if row["outcome"] == "ok" and row["dtype"] == "bfloat16" and int(row["hidden_size"]) == HIDDEN:
                key = row["fusion"], int(row["num_tokens"]) * HIDDEN * 2
                self.rows.setdefault(key, {})[row["strategy"]] = row

    def sizes(self):
        return sorted(size for fusion, size in self.rows if fusion == "NONE" and size >= 8 * KIB)

    def best(self, size, fusion="NONE"):
        """Of our strategies; None where it was not measured."""
        rows = [row for name, row in self.rows.get((fusion, size), {}).items() if name in OWN]
        return min(rows, key=lambda row: float(row["time (us)"]), default=None)

    def time(self, size, fusion="NONE"):
        best = self.best(size, fusion)
        return float(best["time (us)"]) if best else None

    def nccl(self, size):
        row = self.rows.get(("NONE", size), {}).get("NCCL")
        return float(row["time (us)"]) if row else None


def number(time):
    return "–" if time is None else f"{time:.2f}"


def bytes_text(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


def added(fused, plain):
    if fused is None or plain is None:
        return "–"
    return f"{fused:.2f} ({fused - plain:+.2f})".replace("-", "−")


def limits(gpus, size):
    """By the links, of sending all to all and of reduce-scatter with all-gather."""
    rate = LINK_GB_PER_S.get(gpus)
    if rate is None:
        return "–"
    one_shot = size * (gpus - 1) / rate / 1e3
    return f"{one_shot:.2f} / {one_shot * 2 / gpus:.2f}"


def pytorch_times(row):
    """PyTorch's NCCL, the best of its symmetric memory and what our table chooses."""
    if row is None:
        return None
    symmetric = [float(row[name]) for name in ("pytorch_one_shot", "pytorch_two_shot") if row[name] != "nan"]
    return [float(row["pytorch_nccl"]), min(symmetric), float(row["AUTO"])]


def texts(times):
    return "–" if times is None else " / ".join(number(time) for time in times)


def plain_table(folder, gpus):
    """Lines of the table of one number of GPUs."""
    name = f"benchmark.tp{gpus}.sm90"
    grid = Benchmark(folder / f"{name}.csv")
    isolated = Benchmark(folder / "isolated" / f"{name}.isolated.csv")
    beside = {int(row["bytes"]): row for row in rows_of(folder / f"beside_pytorch.tp{gpus}.csv")}
    yield f"**{gpus} GPUs**"
    yield ""
    yield ("| bytes | to reach | measured | by | 95 % interval | link limit, one-/two-shot | NCCL | one call a replay: ours / NCCL "
           "| fused with RMS norm | side by side: PyTorch NCCL / best symmetric memory / ours |")
    yield "|---|---:|---:|---|---|---:|---:|---:|---:|---:|"
    for size in grid.sizes():
        best, time = grid.best(size), grid.time(size)
        goal = TO_REACH_US.get(gpus, {}).get(size)
        measured = number(time) if goal is None or time <= goal else f"**{number(time)}**"
        yield " | ".join([
            f"| {bytes_text(size)}", "" if goal is None else f"{goal}", measured, best["strategy"],
            f"{float(best['low (us)']):.2f} … {float(best['high (us)']):.2f}", limits(gpus, size), number(grid.nccl(size)),
            texts([isolated.time(size), isolated.nccl(size)]), added(grid.time(size, FUSED), time),
            texts(pytorch_times(beside.get(size))) + " |"])


def fused_table(folder, gpus):
    """Fused sums of both sweeps."""
    name = f"benchmark.tp{gpus}.sm90.csv"
    sweeps = [("first sweep", Benchmark(folder / name)), ("second sweep", Benchmark(folder / "again" / name))]
    sizes = [size for size in sweeps[0][1].sizes() if size <= 2 * MIB]
    yield f"| {gpus} GPUs | " + " | ".join(bytes_text(size) for size in sizes) + " |"
    yield "|---" * (len(sizes) + 1) + "|"
    for words, sweep in sweeps:
        yield f"| {words} | " + " | ".join(added(sweep.time(size, FUSED), sweep.time(size)) for size in sizes) + " |"


def eager_table(folder, gpus):
    """Call by call from Python."""
    yield f"| {gpus} GPUs | PyTorch's NCCL | the best of its symmetric memory | ours, out of place | ours, in place |"
    yield "|---|---:|---:|---:|---:|"
    for row in rows_of(folder / f"beside_pytorch.tp{gpus}.eager.csv"):
        nccl, symmetric, _ = pytorch_times(row)
        yield (f"| {bytes_text(int(row['bytes']))} | {nccl:.1f} | {symmetric:.1f} | {float(row['AUTO']):.1f} "
               f"| {float(row['AUTO_in_place']):.1f} |")


def halves_tables(folder, gpus):
    """The halves of an all-reduce, from graphs and call by call."""
    for operation in ("reduce_scatter", "all_gather"):
        name = f"beside_pytorch.{operation}.tp{gpus}"
        if not (folder / f"{name}.csv").exists():
            continue
        yield f"**{operation}, {gpus} GPUs**"
        yield ""
        yield "| bytes | from graphs: NCCL | symmetric memory | ours | call by call: NCCL | symmetric memory | ours |"
        yield "|---|---:|---:|---:|---:|---:|---:|"
        for graph, eager in zip(rows_of(folder / f"{name}.csv"), rows_of(folder / f"{name}.eager.csv")):
            times = [number(float(row[way])) if way in row else "–"
                     for row in (graph, eager) for way in ("pytorch_nccl", "pytorch_symmetric", "AUTO")]
            yield f"| {bytes_text(int(graph['bytes']))} | " + " | ".join(times) + " |"
        yield ""


def tables(folder):
    counts = sorted(int(path.name.split(".tp")[1].split(".")[0]) for path in folder.glob("benchmark.tp*.sm90.csv"))
    if not counts:
        raise SystemExit(f"allreduce_tables.py: '{folder}' has no benchmark.tpN.sm90.csv")
    for table in (plain_table, fused_table, eager_table, halves_tables):
        for gpus in counts:
            yield from table(folder, gpus)
            yield ""


def main(words):
    if any(word in ("-h", "--help") for word in words):
        print(__doc__.strip())
        return
    if len(words) > 1:
        raise SystemExit("allreduce_tables.py: one folder; see --help")
    folder = pathlib.Path(words[0]) if words else SOURCE / "samples/allreduce-h200"
    try:
        lines = list(tables(folder))
    except (KeyError, TypeError, ValueError) as error:
        raise SystemExit(f"allreduce_tables.py: a file in '{folder}' is not whole, or is none of "
                         f"tools/measure_host.sh: {error!r}") from None
    print("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
