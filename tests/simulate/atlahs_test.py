#!/usr/bin/env python3
"""Compares `assay simulate --compat atlahs` with the LogGOPSim of ATLAHS on PATH (there it may have
the name LogGOPSim_atlahs): every rank must end at the same time.

usage: ASSAY=path/to/assay atlahs_test.py [COUNT [FIRST_SEED]]
exit status: 0 good, 77 no such program on PATH, else failed
"""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

from oracle import ANY, Link, Op, goal_text
from oracle_test import random_link, random_schedule

ASSAY = os.environ.get("ASSAY", "assay")
SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "samples" / "goal-4gpu"


def run(words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, timeout=300)


def program():
    for name in ("LogGOPSim_atlahs", "LogGOPSim"):
        path = shutil.which(name)
        if path and "comm-dep-file" in run([path, "--help"]).stdout:
            return path
    return None


def chain(rank):
    """Lets each operation wait for the one before."""
    for i in range(1, len(rank)):
        rank[i].requires.append(i - 1)
    return rank


def ring(ranks, steps, size, calc, channels):
    def of(rank):
        ops = []
        for channel in range(channels):
            last = None
            for _ in range(steps):
                first = len(ops)
                for kind, peer in (("send", (rank + 1) % ranks), ("recv", (rank - 1) % ranks)):
                    ops.append(Op(kind, size, peer, channel, channel))
                    if last is not None:
                        ops[-1].requires.append(last)
                ops.append(Op("calc", calc, cpu=channel))
                ops[-1].requires.append(first + 1)
                last = len(ops) - 1
        return ops
    return [of(rank) for rank in range(ranks)]


def tree(ranks, size):
    graphs = [[] for _ in range(ranks)]
    step = 1
    while step < ranks:
        for rank in range(step):
            if rank + step < ranks:
                graphs[rank].append(Op("send", size, rank + step, step))
                graphs[rank + step].append(Op("recv", size, rank, step))
        step *= 2
    return [chain(graph) for graph in graphs]


def dissemination(ranks, size):
    graphs = [[] for _ in range(ranks)]
    step = 1
    while step < ranks:
        for rank, graph in enumerate(graphs):
            before = range(max(len(graph) - 2, 0), len(graph))
            graph += [Op("send", size, (rank + step) % ranks, step, requires=list(before)),
                      Op("recv", size, (rank - step) % ranks, step, requires=list(before))]
        step *= 2
    return graphs


def all_to_all(ranks, size, cpus):
    return [[Op(kind, size, (rank + sign * step) % ranks, 0, step % cpus)
             for step in range(1, ranks) for kind, sign in (("send", 1), ("recv", -1))]
            for rank in range(ranks)]


def whole(link):
    """ATLAHS takes whole numbers for all but G."""
    return Link(L=link.L, o=link.o, g=link.g, G=link.G, O=int(link.O), S=link.S)


def cases(count, first):
    for ranks in (2, 3, 5, 8, 16):  # LogGOPSim prints the ends of 16 at most
        for size in (0, 1, 8, 1000, 100_000):
            for eager in (0, 1 << 30):
                link = Link(L=3700, o=200, g=5, G=0.04, O=0, S=eager)
                for name, graph in (("ring", ring(ranks, 6, size, 70, 2)),
                                    ("tree", tree(ranks, size)),
                                    ("dissemination", dissemination(ranks, size)),
                                    ("all-to-all", all_to_all(ranks, size, 3))):
                    yield f"{name} of {ranks}, {size} B, S {eager}", graph, link
    for seed in range(first, first + count):
        rng = random.Random(seed)
        graph = random_schedule(rng)
        link = whole(random_link(rng))
        if all(op.peer != ANY and op.tag != ANY for rank in graph for op in rank):
            yield f"seed {seed}", graph, link


def options(link):
    return [word for name in ("L", "o", "g", "G", "O", "S")
            for word in (f"-{name}", getattr(link, name))]


def atlahs_ends(atlahs, schedule, link):
    """The end of each rank; None where the program aborts."""
    done = run([atlahs, "-f", schedule, *options(link)])
    if done.returncode != 0:
        return None
    return [int(ns) for ns in re.findall(r"^Host \d+: (\d+)$", done.stdout, re.MULTILINE)]


def assay_ends(schedule, link):
    words = [word if i % 2 else "-" + word for i, word in enumerate(map(str, options(link)))]
    done = run([ASSAY, "simulate", schedule, "--compat", "atlahs", "--per-rank", "--format",
                "json", *words])
    if done.returncode != 0:
        return None if "ATLAHS' simulator aborts here" in done.stderr else done.stderr
    tables = {table["name"]: table for table in json.loads(done.stdout)["tables"]}
    return [round(row[1] * 1000) for row in tables["ranks"]["rows"]]


def sample_problems(atlahs, folder):
    for simulator in ("assay", "htsim"):
        run([ASSAY, "goal", "generate", SAMPLE, "-o", folder / simulator, "--write", "bin", "--for",
             simulator])
        schedule = folder / simulator / "output.bin"
        for eager in (0, 1 << 30):
            link = Link(L=3700, o=200, g=5, G=0.04, O=0, S=eager)
            expected, got = atlahs_ends(atlahs, schedule, link), assay_ends(schedule, link)
            if expected != got or not expected:
                yield f"the sample for {simulator}, S {eager}: {expected} and {got}"


def main():
    atlahs = program()
    if atlahs is None:
        print("skipped: no LogGOPSim of ATLAHS on PATH")
        return 77
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    compared = aborted = 0
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text, binary = folder / "job.goal", folder / "job.bin"
        for case, graph, link in cases(count, first):
            text.write_text(goal_text(graph), encoding="ascii")
            run([ASSAY, "goal", "to-bin", text, "-o", binary])
            expected, got = atlahs_ends(atlahs, binary, link), assay_ends(binary, link)
            compared += 1
            aborted += expected is None
            if expected != got:
                problems.append(f"{case}: {expected} and {got}")
        problems += sample_problems(atlahs, folder)
        compared += 4
    print("\n".join(problems[:20]))
    print(f"{compared} schedules, {len(problems)} differ; the program aborts on {aborted}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
