#!/usr/bin/env python3
"""Makes every number and the figure of docs/case-study-goal.md, "One step on 64 to 10,240 ranks".

usage: [ASSAY=PROGRAM] case_study_goal.py [--work FOLDER] [--ranks N,N] [--contended RANKS]
                                          [--figure FILE.png]

Prints the tables as Markdown. Runs are kept in FOLDER/runs.json, so that a study that was stopped
goes on where it was; another FOLDER begins anew. With --ranks 64 and
--contended 0 it takes some two minutes.
"""
import argparse
import collections
import csv
import dataclasses
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
ASSAY = os.environ.get("ASSAY", "assay")
RECORDING = ROOT / "samples" / "goal-4gpu"
STEP = ("--from", "4.0035", "--to", "4.0385")
GPUS_PER_NODE = 4
SEEDS = range(1, 9)


@dataclasses.dataclass(frozen=True)
class Setting:
    """What is not known for sure. `slowdown` is what a congested network multiplies the time of a
    byte by; `nvlink` divides the bandwidth between GPUs of a node."""
    latency_ns: float = 3700
    overhead_ns: float = 200
    efficiency: float = 0.95
    slowdown: float = 1
    nvlink: float = 1
    keeps_choices: bool = False


# Each parameter with its best and its worst value; docs/case-study-goal.md has the sources.
SPREADS = {
    "latency": ({"latency_ns": 1500}, {"latency_ns": 14000}),
    "overhead of a message": ({"overhead_ns": 50}, {"overhead_ns": 1000}),
    "efficiency of the NICs": ({"efficiency": 0.98}, {"efficiency": 0.85}),
    "NVLink": ({"nvlink": 0.9}, {"nvlink": 1.1}),
    "NCCL's choices": ({}, {"keeps_choices": True}),
}


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    gbit: int
    topology: str
    routing: str  # without its seed

    def gbytes(self, efficiency=1.0):
        return self.gbit / 8 * efficiency


RAILS = Network(
    "rails", 400, "{type: leaf-spine, nodes_per_leaf: 4, spines: 4, oversubscription: 1, rails: true}",
    "spray")
TAPERED = Network(
    "tapered", 400,
    "{type: leaf-spine, nodes_per_leaf: 4, spines: 4, oversubscription: 4, rails: false}", "ecmp")
DRAGONFLY = Network(
    "dragonfly", 200,
    "{type: dragonfly, nodes_per_router: 2, routers_per_group: 4, links_between_groups: 16, "
    "bandwidth: 100 GB/s, global: {bandwidth: 25 GB/s}}", "spray")
NETWORKS = (RAILS, TAPERED, DRAGONFLY)


class Study:
    def __init__(self, work):
        self.work = work
        self.work.mkdir(parents=True, exist_ok=True)
        self.kept = self.work / "runs.json"
        self.runs = json.loads(self.kept.read_text()) if self.kept.exists() else {}

    def schedule(self, form, ranks, network, keeps_choices=False):
        """The step of the recording at a size, as a job or as a binary schedule."""
        folder = self.work / f"{form}_{ranks}_{network.gbit}{'_kept' if keeps_choices else ''}"
        path = folder / ("output.job.json" if form == "job" else "output.bin")
        if not path.exists():
            kept = ["--keep-algorithms"] if keeps_choices else []
            call("goal", "generate", RECORDING, "-o", folder, *STEP, "--replicas",
                 ranks // GPUS_PER_NODE, "--nic-bandwidth", network.gbytes(), "--write", form, "-q",
                 *kept)
        return path

    def logops(self, ranks, network, setting, collectives):
        """The step without contention but for `slowdown`."""
        path = self.schedule("job", ranks, network, setting.keeps_choices)
        parameters = self.work / "parameters.json"
        parameters.write_text(json.dumps(parameters_of(network, setting)))
        return self.simulate(f"{collectives} {path.parent.name} {setting}", path, "--params",
                             parameters, "--collectives", collectives)

    def contended(self, ranks, network, text):
        """The step on a network whose links messages share."""
        path = self.schedule("bin", ranks, network)
        file = self.work / "network.yaml"
        file.write_text(text)
        parameters = self.work / "parameters.json"
        parameters.write_text(json.dumps(parameters_of(network, Setting())))
        return self.simulate(f"{path.parent.name} {text}", path, "--params", parameters, "--network",
                             file)

    def simulate(self, key, *arguments):
        if key not in self.runs:
            print(f"  running {' '.join(key.split())[:150]}", file=sys.stderr, flush=True)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            tables = json.loads(call("simulate", *arguments, "--format", "json", "-q"))["tables"]
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.runs[key] = summary_of({table["name"]: table for table in tables})
            self.runs[key]["cpu_s"] = (after.ru_utime + after.ru_stime - before.ru_utime -
                                       before.ru_stime)
            self.kept.write_text(json.dumps(self.runs, indent=1))
        return self.runs[key]


def call(*arguments):
    run = subprocess.run([ASSAY, *map(str, arguments)], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, run.args))}\n{run.stderr}")
    return run.stdout


def value(table, column):
    names = [each["name"] for each in table["columns"]]
    return table["rows"][0][names.index(column)]


def summary_of(tables):
    made = {"ms": value(tables["simulation"], "finish") / 1000}
    if "costs" in tables:
        made["replaced %"] = value(tables["costs"], "share of time")
    if "network" in tables:
        made["lost on path %"] = value(tables["network"], "share of finish")
    return made


def parameters_of(network, setting):
    byte_ns = setting.slowdown / network.gbytes(setting.efficiency)
    eager = {"O": 0, "S": 1e12}
    return {"inter": {"L": setting.latency_ns, "o": setting.overhead_ns, "g": 5, "G": byte_ns, **eager},
            "intra": {"L": 439, "o": 1, "g": 4, "G": 0.002909 * setting.nvlink, **eager}}


def network_text(network, nodes, routing=None, seed=1, noise="", ranks_in_order=True):
    """The file of a network. Out of order, replicas lie on nodes at random, as a busy cluster's
    scheduler may place them."""
    order = list(range(nodes))
    if not ranks_in_order:
        random.Random(1).shuffle(order)
    members = ", ".join(str([GPUS_PER_NODE * node + i for i in range(GPUS_PER_NODE)])
                        for node in order)
    return (f"nodes: [{members}]\n"
            f"nics: {{per_node: {GPUS_PER_NODE}, bandwidth: "
            f"{network.gbytes(Setting().efficiency):g} GB/s}}\n"
            f"topology: {network.topology}\n"
            f"routing: {{policy: {routing or network.routing}, seed: {seed}}}\n"
            f"{noise}")


def table(title, head, rows):
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def ms(run):
    return f"{run['ms']:.1f}"


def recorded_steps(study):
    """Steps from the end of the loss's all-reduce to the next one, in ms: measured and simulated."""
    folder = study.work / "recording"
    call("goal", "generate", RECORDING, "-o", folder, "--write", "job", "-q")
    call("simulate", folder / "output.job.json", "--operations", folder / "operations.csv", "-q",
         "--collectives", "exact")
    with open(folder / "operations.csv", newline="") as file:
        losses = [row for row in csv.DictReader(file)
                  if row["function"] == "AllReduce" and row["bytes"] == "2"]
    ends = lambda name: [int(row[name]) / 1e6 for row in losses]
    steps = lambda times: [after - before for before, after in zip(times, times[1:])]
    return steps(ends("measured_end_ns")), steps(ends("simulated_end_ns"))


def print_measured(study):
    measured, simulated = recorded_steps(study)
    error = statistics.median(simulated) / statistics.median(measured) - 1
    table("Measured: a step of 4 GPUs", ("", "median ms", "all"), [
        ("measured", f"{statistics.median(measured):.2f}", ", ".join(f"{x:.2f}" for x in measured)),
        ("simulated", f"{statistics.median(simulated):.2f}",
         ", ".join(f"{x:.2f}" for x in simulated)),
        ("error", f"{100 * error:+.1f} %", "")])
    tables = json.loads(call("goal", "validate", RECORDING, "--format", "json"))["tables"]
    kinds = tables[1]
    names = [each["name"] for each in kinds["columns"]]
    rows = [dict(zip(names, row)) for row in kinds["rows"]]
    table("Measured: each kind of operation alone",
          ("function", "protocol", "bytes", "times", "measured us", "simulated us", "error"),
          [(row["function"], row["protocol"], f"{row['size']:,}", str(row["seen"]),
            f"{row['measured']:.1f}", f"{row['simulated']:.1f}", f"{row['error']:+.1f} %")
           for row in rows])


def seeds_row(study, ranks, network, what, routing, in_order, seeds=SEEDS):
    runs = [study.contended(ranks, network, network_text(
        network, ranks // GPUS_PER_NODE, routing, seed, ranks_in_order=in_order)) for seed in seeds]
    times = [run["ms"] for run in runs]
    return times, (network.name, what, f"{statistics.median(times):.1f}",
                   f"{min(times):.1f} to {max(times):.1f}" if len(runs) > 1 else "",
                   f"{statistics.median(run['lost on path %'] for run in runs):.0f} %")


def print_contention(study, ranks, seeds):
    """Returns the median times of the tapered network, replicas in order and not."""
    rows = []
    add = lambda *arguments: rows.append(seeds_row(study, ranks, *arguments))
    add(RAILS, "in order, sprayed", "spray", True, [1])
    add(RAILS, "in order, ECMP", "ecmp", True, seeds)
    add(RAILS, "at random, sprayed", "spray", False, [1])
    add(TAPERED, "in order, sprayed", "spray", True, [1])
    add(TAPERED, "in order, ECMP", "ecmp", True, seeds)
    add(TAPERED, "at random, sprayed", "spray", False, [1])
    add(TAPERED, "at random, ECMP", "ecmp", False, seeds)
    add(DRAGONFLY, "in order, sprayed", "spray", True, [1])
    add(DRAGONFLY, "at random, sprayed", "spray", False, [1])
    table(f"{ranks} ranks on links that messages share", (
        "network", "replicas and routing", "median ms", "over seeds", "lost on the critical path"),
          [row for _, row in rows])
    for network in NETWORKS:
        alone = study.logops(ranks, network, Setting(), "exact")
        print(f"\n{network.name} by LogGOPS, without contention: {alone['ms']:.3f} ms")
    return statistics.median(rows[4][0]), statistics.median(rows[6][0])


def slowdown_for(study, ranks, network, wanted_ms):
    """The slowdown with which LogGOPS takes as long as links that are shared."""
    low, high = 1.0, 32.0
    for _ in range(9):
        middle = (low * high)**0.5
        run = study.logops(ranks, network, Setting(slowdown=round(middle, 3)), "exact")
        low, high = (middle, high) if run["ms"] < wanted_ms else (low, middle)
    return round((low * high)**0.5, 2)


def print_larger(study, ranks, slowdowns):
    """How far the slowdowns of 64 ranks carry: shared links and LogGOPS side by side."""
    rows = []
    for network, what, routing, in_order, seeds, slowdown in (
            (RAILS, "in order, sprayed", "spray", True, [1], 1),
            (TAPERED, "in order, sprayed", "spray", True, [1], 1),
            (TAPERED, "in order, ECMP", "ecmp", True, [1, 2, 3], slowdowns[0]),
            (TAPERED, "at random, ECMP", "ecmp", False, [1], slowdowns[1]),
            (DRAGONFLY, "in order, sprayed", "spray", True, [1], 1)):
        _, row = seeds_row(study, ranks, network, what, routing, in_order, seeds)
        alone = study.logops(ranks, network, Setting(slowdown=slowdown), "exact")["ms"]
        rows.append((*row, f"{alone:.1f}", f"{100 * (alone / float(row[2]) - 1):+.0f} %"))
    table(f"{ranks} ranks: shared links, and LogGOPS with the slowdown of 64 ranks", (
        "network", "replicas and routing", "median ms", "over seeds", "lost on the critical path",
        "LogGOPS ms", "LogGOPS is off by"), rows)


def print_noise(study, ranks):
    rows = []
    for percent in (0, 0.5, 2, 5):
        noise = f"noise: {{seed: SEED, calculation: {percent} %}}\n" if percent else ""
        times = [study.contended(ranks, RAILS, network_text(
            RAILS, ranks // GPUS_PER_NODE, noise=noise.replace("SEED", str(seed))))["ms"]
                 for seed in (range(1, 4) if percent else [1])]
        rows.append((f"{percent} %", f"{statistics.median(times):.1f}",
                     f"{min(times):.1f} to {max(times):.1f}"))
    table(f"Noise of calculations, {ranks} ranks on rails", ("mean", "median ms", "3 seeds"), rows)


def spreads_of(network, slowdowns):
    spreads = dict(SPREADS)
    if network is TAPERED:
        spreads["congestion"] = ({"slowdown": 1}, {"slowdown": slowdowns[1]})
    return spreads


def typical(network, slowdowns):
    return Setting(slowdown=slowdowns[0] if network is TAPERED else 1)


def together(network, slowdowns, which):
    setting = typical(network, slowdowns)
    for values in spreads_of(network, slowdowns).values():
        # Kept choices are a way to run, and no property of a machine.
        if "keeps_choices" not in values[which]:
            setting = dataclasses.replace(setting, **values[which])
    return setting


def print_spreads(study, ranks, slowdowns, collectives):
    """Each parameter by itself. Returns {network: [(parameter, best ms, worst ms)]}."""
    rows = []
    bars = collections.defaultdict(list)
    for network in NETWORKS:
        base = typical(network, slowdowns)
        middle = study.logops(ranks, network, base, collectives)["ms"]
        for name, (best, worst) in spreads_of(network, slowdowns).items():
            ends = [study.logops(ranks, network, dataclasses.replace(base, **each),
                                 collectives)["ms"] for each in (best, worst)]
            bars[network.name].append((name, ends[0], ends[1]))
            rows.append((network.name, name, f"{ends[0]:.1f}", f"{middle:.1f}", f"{ends[1]:.1f}",
                         f"{100 * (ends[0] / middle - 1):+.1f} % to "
                         f"{100 * (ends[1] / middle - 1):+.1f} %"))
    table(f"One parameter at a time, {ranks:,} ranks ({collectives})",
          ("network", "parameter", "best ms", "typical ms", "worst ms", "of the typical"), rows)
    return bars


def print_sizes(study, sizes, slowdowns):
    """Returns {network: [(ranks, best, typical, worst)]}."""
    rows = []
    points = collections.defaultdict(list)
    for ranks in sizes:
        collectives = "exact" if ranks <= 64 else "cost"
        for network in NETWORKS:
            settings = [together(network, slowdowns, 0), typical(network, slowdowns),
                        together(network, slowdowns, 1)]
            runs = [study.logops(ranks, network, setting, collectives) for setting in settings]
            exact = (study.logops(ranks, network, settings[1], "exact") if ranks <= 1024 else None)
            points[network.name].append((ranks, *(run["ms"] for run in runs)))
            rows.append((f"{ranks:,}", network.name, *map(ms, runs),
                         "" if exact is None else ms(exact),
                         f"{100 * (runs[1]['ms'] / exact['ms'] - 1):+.2f} %"
                         if exact and collectives == "cost" else "",
                         f"{runs[1]['cpu_s']:.0f}"))
    table("All together", ("ranks", "network", "best ms", "typical ms", "worst ms", "typical, exact",
                           "error of the costs", "CPU s"), rows)
    return points


def block(name, rows):
    """Rows as inline data of gnuplot."""
    return f"${name} << EOD\n" + "\n".join(" ".join(map(str, row)) for row in rows) + "\nEOD\n"


def quoted(text):
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def sizes_panel(points, measured_ms):
    """The step by its ranks; networks lie beside each other, so that their spreads can be seen."""
    plots = [f"$measured with points pt 7 ps 1.8 lc rgb 'black' title 'measured, 4 H200'"]
    for color, (name, shift) in enumerate(zip(points, (0.85, 1, 1.18)), 1):
        plots.append(f"${name} using ($1*{shift}):3:2:4 with yerrorlines lw 2 pt 7 lc {color} "
                     f"title '{name}'")
    return (block("measured", [(GPUS_PER_NODE, measured_ms)]) +
            "".join(block(name, rows) for name, rows in points.items()) +
            "set title 'One step: typical, best and worst parameters together'\nset key top left\n"
            "set logscale x 2\nset xrange [2:32768]\nset yrange [0:*]\n"
            "set xtics ('4' 4, '64' 64, '1,024' 1024, '10,240' 10240)\n"
            "set xlabel 'ranks'\nset ylabel 'step (ms)'\n"
            f"plot {', '.join(plots)}\nunset logscale x\n")


def parameters_panel(points, bars, ranks):
    """What each parameter does to the step by itself; congestion, which does more than all others,
    is the spread of the tapered network on the left."""
    labels, boxes, at = [], [], 0
    for color, (network, rows) in enumerate(bars.items(), 1):
        middle = next(row[2] for row in points[network] if row[0] == ranks)
        for name, best, worst in sorted(rows, key=lambda row: abs(row[2] - row[1])):
            if name == "congestion":
                continue
            at += 1
            labels.append(f"{quoted(network + ': ' + name)} {at}")
            low, high = sorted((100 * (best / middle - 1), 100 * (worst / middle - 1)))
            boxes.append(((low + high) / 2, at, low, high, at - 0.35, at + 0.35, color))
        at += 1
    return (block("bars", boxes) + "set xtics autofreq\nset xrange [*:*]\nunset key\n"
            f"set title 'One parameter at a time, {ranks:,} ranks'\n"
            "set xlabel 'change of the step (%)'\nunset ylabel\nset style fill solid 0.8\n"
            f"set ytics ({', '.join(labels)})\nset yrange [0:{at}]\n"
            "set arrow from 0, graph 0 to 0, graph 1 nohead lc rgb 'black'\n"
            "plot $bars using 1:2:3:4:5:6:7 with boxxyerror lc variable\n")


def draw(figure, points, bars, bars_ranks, measured_ms):
    script = ("set terminal pngcairo size 1400,560 font ',12' background 'white'\n"
              f"set output {quoted(str(figure))}\nset multiplot layout 1,2\n"
              "set grid ytics lc rgb '#dddddd'\n" + sizes_panel(points, measured_ms) +
              parameters_panel(points, bars, bars_ranks))
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("case-study"))
    parser.add_argument("--ranks", default="64,1024,10240")
    parser.add_argument("--contended", type=int, default=256, help="0: not beyond 64 ranks")
    parser.add_argument("--figure", type=pathlib.Path)
    options = parser.parse_args()
    sizes = [int(ranks) for ranks in options.ranks.split(",")]
    study = Study(options.work)
    print_measured(study)
    congested_ms = print_contention(study, 64, SEEDS)
    slowdowns = [slowdown_for(study, 64, TAPERED, wanted) for wanted in congested_ms]
    print(f"\nThe tapered network slows bytes down by {slowdowns[0]}, at random by {slowdowns[1]}")
    print_noise(study, 64)
    if options.contended:
        print_larger(study, options.contended, slowdowns)
    bars_ranks = 1024 if 1024 in sizes else sizes[0]
    print_spreads(study, 64, slowdowns, "exact")
    bars = print_spreads(study, bars_ranks, slowdowns, "exact" if bars_ranks == 64 else "cost")
    points = print_sizes(study, sizes, slowdowns)
    if options.figure:
        draw(options.figure, points, bars, bars_ranks,
             statistics.median(recorded_steps(study)[0]))


if __name__ == "__main__":
    main()
