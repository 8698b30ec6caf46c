#!/usr/bin/env python3
"""The program's CSV files in compat mode against every figure of the public tool that we have.

Runs `assay trace analyze` on samples and compares each sheet with tests/data; where
../shared/samples/traces-8gpu is, also that and `assay trace compare` with ../shared/golden/trace:
columns by name, rows in order (those of the comparison in any order: the public tool's follow its
processes), numbers to 1e-6 wherever they stand in a text.

usage: ASSAY=PROGRAM tracelens_test.py
exit status: 0 the same, 1 different
"""
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SHARED = SOURCE / ".." / "shared"
SAMPLES = SHARED / "samples" / "traces-8gpu"
GOLDEN = SHARED / "golden" / "trace"
CONFIGURATIONS = ("default", "16cta_256threads")
COMPARISON = GOLDEN / "comparison" / "default_vs_16cta_256threads"
TOLERANCE = 1e-6
MOST_SHOWN = 5
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

csv.field_size_limit(1 << 30)


def assay(*arguments):
    subprocess.run([os.environ["ASSAY"], "trace", *map(str, arguments), "--compat", "tracelens",
                    "--write", "csv", "--quiet"], check=True, stderr=subprocess.DEVNULL)


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return rows[0], rows[1:]


def close(a, b):
    return a == b or abs(float(a) - float(b)) <= TOLERANCE * max(abs(float(a)), abs(float(b)))


def same(actual, expected):
    if actual == expected or (expected == "nan" and actual == ""):
        return True
    pairs = list(zip(NUMBER.findall(actual), NUMBER.findall(expected)))
    return (NUMBER.split(actual) == NUMBER.split(expected)
            and all(close(a, b) for a, b in pairs))


def sort_key(row):
    """Numbers to a few digits: nearly the same rows stand at the same place."""
    return [NUMBER.sub(lambda m: f"{float(m.group()):.4g}", cell) for cell in row]


def differences(actual_path, expected_path, any_order):
    if not actual_path.exists():
        return ["not written"]
    columns, rows = read(actual_path)
    wanted_columns, wanted_rows = read(expected_path)
    if any_order:
        if sorted(columns) != sorted(wanted_columns):
            return [f"columns {columns} instead of {wanted_columns}"]
        places = [columns.index(name) for name in wanted_columns]
        rows = sorted(([row[i] for i in places] for row in rows), key=sort_key)
        wanted_rows = sorted(wanted_rows, key=sort_key)
    elif columns != wanted_columns:
        return [f"columns {columns} instead of {wanted_columns}"]
    found = []
    if len(rows) != len(wanted_rows):
        found.append(f"{len(rows)} rows instead of {len(wanted_rows)}")
    for number, (row, wanted) in enumerate(zip(rows, wanted_rows), 1):
        found += [f"row {number}, {name}: {is_[:80]} instead of {should[:80]}"
                  for name, is_, should in zip(wanted_columns, row, wanted)
                  if not same(is_, should)]
    return found


class Comparison:
    def __init__(self):
        self.sheets, self.wrong = 0, 0

    def folder(self, actual, expected, any_order=False, optional=()):
        """Every sheet of both folders, but for those that the public tool was not asked for."""
        names = {path.name for path in expected.glob("*.csv")}
        names |= {path.name for path in actual.glob("*.csv")} - set(optional)
        for name in sorted(names):
            self.sheets += 1
            if (expected / name).exists():
                found = differences(actual / name, expected / name, any_order)
            else:
                found = ["the public tool has no such sheet"]
            self.wrong += bool(found)
            for line in found[:MOST_SHOWN]:
                print(f"{actual.name}/{name}: {line}")


def compare_reports(comparison, run, out, rank, figures):
    """The reports of one rank, and of all, of a run. `figures` holds the public tool's."""
    assay("analyze", run, "-o", out / "all", "--include-unlinked", "--short-kernel-us", 50)
    assay("analyze", run, "-o", out / "linked")
    for name, folder in figures["individual"].items():
        comparison.folder(out / name / f"individual_reports/rank{rank}_individual_report_csvs", folder,
                          optional=("kernel_summary.csv",))
    if "collective" in figures:
        comparison.folder(out / "all/collective_reports/collective_all_ranks_csvs",
                          figures["collective"])


def compare_samples(comparison, out):
    """The bundled runs, with the figures of tests/data."""
    subprocess.run(["tar", "--zstd", "-xf", SOURCE / "tests/data/public_trace_figures.tar.zst",
                    "-C", out], check=True)
    individual = out / "individual/h200_ctas_default_rank0"
    compare_reports(comparison, SOURCE / "samples/traces-2gpu/ctas_default", out / "2gpu", 0,
                    {"individual": {"all": individual / "csvs",
                                    "linked": pathlib.Path(f"{individual}_linked") / "csvs"}})
    compare_reports(comparison, SOURCE / "samples/sweep-nccl-ctas/default/repeat1", out / "8gpu", 0,
                    {"individual": {}, "collective": out / "collective/sweep_default/csvs"})


def compare_shared(comparison, out):
    for name, rank in zip(CONFIGURATIONS, (0, 5)):
        individual = GOLDEN / "individual" / f"h200_{name}_rank{rank}"
        compare_reports(comparison, SAMPLES / name, out / name, rank,
                        {"individual": {"all": individual / "csvs",
                                        "linked": pathlib.Path(f"{individual}_linked") / "csvs"},
                         "collective": GOLDEN / "collective" / name / "csvs"})
    assay("compare", "--baseline", SAMPLES / CONFIGURATIONS[0], "--test",
          SAMPLES / CONFIGURATIONS[1], "--output", out / "comparison", "--labels",
          "baseline,saleelk", "--include-unlinked")
    for folder in sorted(COMPARISON.glob("*_sheets")):
        name = folder.name.removesuffix("_sheets")
        comparison.folder(out / "comparison" / f"{name}_csvs", folder, any_order=True)


def main():
    comparison = Comparison()
    with tempfile.TemporaryDirectory(prefix="assay-compat-") as scratch:
        out = pathlib.Path(scratch)
        compare_samples(comparison, out)
        if SAMPLES.exists() and GOLDEN.exists():
            compare_shared(comparison, out)
    print(f"{comparison.sheets} sheets compared, {comparison.wrong} differ")
    return 1 if comparison.wrong or not comparison.sheets else 0


if __name__ == "__main__":
    sys.exit(main())
