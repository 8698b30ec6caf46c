#!/usr/bin/env python3
"""Finds the constants of src/plan/uncertainty/error_bars.cc on measured deployments of some models,
and judges them on those of the others.

    assay plan validate measured.csv --systems-paths SYSTEMS --rows --format csv -q > rows.csv
    tools/plan_error_bars.py rows.csv --found-on Qwen/Qwen3-32B openai/gpt-oss-120b

A measurement is below its bar in one of ten rows that the constants were found on, and above it in
one of ten. An end of a bar is the root of the sum of squares of
  - what every prediction has ("common"; found on models without experts),
  - what experts have, times their share of the step (found on models with experts), and
  - 1.2816 times the row's own sigma (of its prices, or of the points that calibrated it).
--larger-side takes the experts' errors on TPOT below as those above, or the other way, whichever are
larger: slices of one model differ in their sign, so that another model's may, too. --one-kind finds
"common" on all models alike: for prices of assay's own kernels, and for calibrated predictions, whose
rows that calibrate are left out.

Rows of one slice (engine, version, model, system) err together, and a new deployment is mostly of a new
slice. Where slices have n rows, each row counts n^-W (--slice-weight W): 0 counts rows, 1 slices.
"""

import argparse
import collections
import csv
import math
import sys

SIGMAS = 1.2816  # a normal error is within so many of zero in 80 of 100 cases
LATENCIES = {"tpot": "step", "ttft": "prompt"}


class Row:
    def __init__(self, fields, latency):
        part = LATENCIES[latency]
        self.model = fields["model"]
        self.slice = tuple(fields[name] for name in ("engine", "version", "model", "system"))
        self.weight = 1.0
        self.error = math.log(float(fields[f"measured {latency} (ms)"]) / float(fields[f"{latency} (ms)"]))
        self.experts = float(fields[f"experts of a {part} (%)"]) / 100
        self.own = SIGMAS * float(fields[f"{latency} sigma (%)"]) / 100


def read(path, latency):
    with open(path, newline="") as file:
        rows = csv.DictReader(file)
        return [Row(one, latency) for one in rows if not one["refused"] and one["calibrates"].lower() != "true"]


def weigh(rows, power):
    """Rows of slices that have n of them count n^-power each."""
    sizes = collections.Counter(row.slice for row in rows)
    for row in rows:
        row.weight = sizes[row.slice] ** -power


def quantile(values, share, weights=None):
    """Linear between values, each of which stands in the middle of its weight."""
    weights = weights or [1.0] * len(values)
    places, filled = [], 0.0
    for value, weight in sorted(zip(values, weights)):
        places.append((filled + weight / 2, value))
        filled += weight
    wanted = places[0][0] + share * (places[-1][0] - places[0][0])
    for (before, low), (after, high) in zip(places, places[1:]):
        if wanted <= after:
            return low + (wanted - before) / (after - before) * (high - low)
    return places[-1][1]


def side_of(row, side):
    """How far the row is out on this side of its prediction."""
    return max(0.0, row.error if side == "above" else -row.error)


def rest(row, side, known):
    """What is left of a row's error beside what is known of it."""
    return math.sqrt(max(0.0, side_of(row, side) ** 2 - row.own**2 - known**2))


def upper(values, rows):
    return quantile(values, 0.9, [row.weight for row in rows]) if rows else 0.0


def find(rows, one_kind, larger_side):
    found = {}
    dense = [row for row in rows if one_kind or row.experts == 0]
    mixed = [] if one_kind else [row for row in rows if row.experts > 0]
    for side in ("below", "above"):
        common = upper([rest(row, side, 0) for row in dense], dense)
        found[side] = (common, upper([rest(row, side, common) / row.experts for row in mixed], mixed))
    if larger_side:
        experts = max(one for _, one in found.values())
        return {side: (common, experts) for side, (common, _) in found.items()}
    return found


def bar(row, found):
    ends = {}
    for side, (common, experts) in found.items():
        ends[side] = math.sqrt(common**2 + (row.experts * experts) ** 2 + row.own**2)
    return math.exp(-ends["below"]), math.exp(ends["above"])


def judge(rows, found):
    bars = [bar(row, found) for row in rows]
    inside = sum(low <= math.exp(row.error) <= high for row, (low, high) in zip(rows, bars))
    halves = [(high - low) / 2 for low, high in bars]
    return f"{len(rows):4d} rows, {100 * inside / len(rows):3.0f} % inside, half-width {100 * quantile(halves, 0.5):.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", help="what 'assay plan validate --rows --format csv' wrote")
    parser.add_argument("--found-on", nargs="+", required=True, metavar="MODEL")
    parser.add_argument("--one-kind", action="store_true", help="experts have no error of their own")
    parser.add_argument("--larger-side", action="store_true", help="the experts' errors on TPOT have one size")
    parser.add_argument("--slice-weight", type=float, default=0.0, metavar="W",
                        help="rows of a slice with n of them count n^-W each (default: 0)")
    given = parser.parse_args()
    for latency in LATENCIES:
        rows = read(given.rows, latency)
        own = [row for row in rows if row.model in given.found_on]
        others = [row for row in rows if row.model not in given.found_on]
        if not own:
            sys.exit(f"{given.rows} has no predicted row of {', '.join(given.found_on)}")
        weigh(own, given.slice_weight)
        found = find(own, given.one_kind, given.larger_side and latency == "tpot")
        print(f"{latency}: common below {found['below'][0]:.3f} above {found['above'][0]:.3f}, "
              f"experts below {found['below'][1]:.3f} above {found['above'][1]:.3f}")
        print("  found on      ", judge(own, found))
        for model in sorted({row.model for row in others}):
            print("  judged on     ", judge([row for row in others if row.model == model], found), model)
        if others:
            print("  judged on all ", judge(others, found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
