#!/usr/bin/env python3
"""Compares `assay simulate` with a slow simulator on random schedules.

usage: ASSAY=path/to/assay oracle_test.py [COUNT [FIRST_SEED]]
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from oracle import ANY, Link, Op, Simulation, goal_text

ASSAY = os.environ.get("ASSAY", "assay")


def random_schedule(rng):
    """Every message has a receive; order, dependencies and places are random, so that some
    schedules cannot end."""
    num_ranks = rng.randint(1, 6)
    cpus, nics = rng.choice([(1, 1), (2, 1), (3, 2), (4, 3)])
    sizes = rng.choice([[1], [0, 1, 8], [1, 100, 5000], [64, 40000]])
    lengths = rng.choice([[0, 1], [100], [0, 50, 205, 3000]])
    ranks = [[] for _ in range(num_ranks)]

    def add(rank, op):
        op.cpu, op.nic = rng.randrange(cpus), rng.randrange(nics)
        ranks[rank].insert(rng.randint(0, len(ranks[rank])), op)

    wild = rng.random() < 0.3
    for _ in range(rng.randint(0, 40)):
        source, target = rng.randrange(num_ranks), rng.randrange(num_ranks)
        size, tag = rng.choice(sizes), rng.randrange(3)
        add(source, Op("send", size, target, tag))
        any_source, any_tag = wild and rng.random() < 0.3, wild and rng.random() < 0.3
        add(target, Op("recv", size, ANY if any_source else source, ANY if any_tag else tag))
    for rank in range(num_ranks):
        for _ in range(rng.randint(0, 8)):
            add(rank, Op("calc", rng.choice(lengths)))
        density = rng.choice([0, 0.05, 0.2])
        for i, op in enumerate(ranks[rank]):
            for before in range(i):
                if rng.random() < density:
                    (op.requires if rng.random() < 0.8 else op.irequires).append(before)
    return ranks


def random_link(rng):
    return Link(L=rng.choice([0, 100, 3700]), o=rng.choice([0, 7, 200]), g=rng.choice([0, 5, 300]),
                G=rng.choice([0, 0.04, 1.5]), O=rng.choice([0, 0, 0.3]),
                S=rng.choice([0, 50, 1000000]))


def run_assay(folder, ranks, inter, intra, ranks_per_node):
    schedule, parameters = folder / "job.goal", folder / "parameters.json"
    schedule.write_text(goal_text(ranks), encoding="ascii")
    parameters.write_text(json.dumps({"inter": vars(inter), "intra": vars(intra),
                                      "ranks_per_node": ranks_per_node}), encoding="ascii")
    ran = subprocess.run([ASSAY, "simulate", schedule, "--params", parameters, "--per-rank",
                          "--format", "json"], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        return None, ran.stderr
    tables = {table["name"]: table for table in json.loads(ran.stdout)["tables"]}
    finish = [round(row[1] * 1000) for row in tables["ranks"]["rows"]]
    path = sum(row[1] for row in tables["critical_path"]["rows"])
    return (finish, round(path * 1000)), ran.stderr


def problem(seed, folder):
    """What differs for this seed; None when nothing does."""
    rng = random.Random(seed)
    ranks = random_schedule(rng)
    inter, intra = random_link(rng), random_link(rng)
    per_node = rng.randint(1, 4)
    link = lambda a, b: intra if a // per_node == b // per_node else inter
    expected, ended = Simulation(ranks, link).run()
    got, stderr = run_assay(folder, ranks, inter, intra, per_node)
    if not ended:
        fine = got is None and ("cannot end" in stderr or "messages are left" in stderr)
        return None if fine else f"it should not end, but {got} {stderr}"
    if got is None:
        return f"it should end at {expected}, but {stderr}"
    finish, path = got
    if finish != expected:
        return f"it should end at {expected}, not at {finish}"
    return None if path == max(finish) else f"the critical path is {path} of {max(finish)} ns"


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            found = problem(seed, pathlib.Path(folder))
            if found:
                failed += 1
                print(f"seed {seed}: {found}")
    print(f"{count} schedules, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
