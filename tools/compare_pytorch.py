#!/usr/bin/env python3
"""Compares answers of `assay store query --batch` with what PyTorch measured at shapes that no grid has.

usage: [ASSAY=PROGRAM] compare_pytorch.py [--store STORE] [FOLDER]
FOLDER has gemm.csv, context_attention.csv and generation_attention.csv as measure_pytorch.py writes
them (tests/data/pytorch_h200 unless another is given); STORE is a store, or the name of a shipped one.

An error is answer / measured - 1. Assay's rows are of its own kernels, so that an answer below
PyTorch's time may be right: the columns 'slower' count it as no error. 'inside' is the share of
measured times in the answers' 80 % interval. Of several answers to one question the fastest counts.
"""
import argparse
import collections
import csv
import io
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LATENCY = "latency (ms)"
TABLES = ("gemm", "context_attention", "generation_attention")
TYPES = ("gemm_dtype", "kv_cache_dtype")
HEAD = ("table", "type", "questions", "refused", "median ratio", "median |error| %", "p90 |error| %",
        "median slower %", "p90 slower %", "inside %")


def quantile(values, share):
    """Linear between the two nearest values, as everywhere in assay."""
    ordered = sorted(values)
    if not ordered:
        return float("nan")
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def ask(assay, table, questions, store):
    """The fastest answer of each line of the questions, by its number in the file."""
    command = [assay, "store", "query", table, "--batch", str(questions), "--format", "csv"]
    done = subprocess.run(command + (["--store", store] if store else []), capture_output=True,
                          text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(done.stderr.strip())
    best = {}
    for row in csv.DictReader(io.StringIO(done.stdout)):
        line = int(row["line"])
        if row[LATENCY] and (line not in best or float(row[LATENCY]) < float(best[line][LATENCY])):
            best[line] = row
    return best


def comparison(assay, folder, store):
    """A row of HEAD for each table and type."""
    for table in TABLES:
        file = folder / f"{table}.csv"
        answers = ask(assay, table, file, store)
        pairs = collections.defaultdict(list)
        with open(file, encoding="utf-8", newline="") as lines:
            for number, asked in enumerate(csv.DictReader(lines), 2):
                kind = next((asked[name] for name in TYPES if asked.get(name)), "")
                pairs[kind].append((answers.get(number), float(asked["latency_ms"])))
        for kind, found in sorted(pairs.items()):
            yield summary(table, kind, found)


def summary(table, kind, found):
    answered = [(answer, measured) for answer, measured in found if answer is not None]
    ratios = [float(answer[LATENCY]) / measured for answer, measured in answered]
    errors = [100 * abs(ratio - 1) for ratio in ratios]
    slower = [100 * max(0.0, ratio - 1) for ratio in ratios]
    inside = [float(answer["low_80 (ms)"] or answer[LATENCY]) <= measured <=
              float(answer["high_80 (ms)"] or answer[LATENCY]) for answer, measured in answered]
    figures = (quantile(ratios, 0.5), quantile(errors, 0.5), quantile(errors, 0.9),
               quantile(slower, 0.5), quantile(slower, 0.9),
               100 * sum(inside) / len(inside) if inside else float("nan"))
    return (table, kind, str(len(found)), str(len(found) - len(answered)), f"{figures[0]:.3f}",
            *(f"{figure:.1f}" for figure in figures[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--store", default="", help="a store, or the name of a shipped one")
    parser.add_argument("folder", nargs="?", type=pathlib.Path,
                        default=ROOT / "tests/data/pytorch_h200")
    arguments = parser.parse_args()
    assay = os.environ.get("ASSAY", "assay")
    rows = [HEAD, *comparison(assay, arguments.folder, arguments.store)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    for row in rows:
        print("  ".join(text.ljust(width) if column < 2 else text.rjust(width)
                        for column, (text, width) in enumerate(zip(row, widths))).rstrip())


if __name__ == "__main__":
    main()
