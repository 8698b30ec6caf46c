#!/usr/bin/env python3
"""Runs one golden case, or all: a command, its inputs, its expected output.

A case is a folder tests/golden/<area>/<case>/ with
  cmd       a shell line; $ASSAY is the program, $SOURCE the source tree (for $SOURCE/samples)
  in/       its inputs, if any; the line runs beside a copy of this folder
  out/      what is expected: stdout, stderr, exit, and under files/ each file that it writes
  options   a line each:
              tolerance 1e-6       numbers may differ by this share of their size (else: exact)
              ignore GLOB          no look at this one: stdout, stderr, or a written file's path
              mask REGEX           what matches reads as <masked> (an elapsed time, say)
              requires PATH        skip the case where this path from the source tree is missing
Inputs that the command changes fail the case.

usage: ASSAY=PROGRAM golden.py [--update] CASE...
exit status: 0 as expected, 1 different, 77 skipped
"""
import argparse
import difflib
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77
TIMEOUT_S = 300
DIFF_LINES = 60
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class Options:
    def __init__(self, case):
        self.tolerance, self.ignore, self.mask, self.requires = 0.0, [], [], []
        path = case / "options"
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            key, _, value = line.strip().partition(" ")
            if key == "tolerance":
                self.tolerance = float(value)
            elif key in ("ignore", "mask", "requires"):
                getattr(self, key).append(value.strip())
            elif key and not key.startswith("#"):
                sys.exit(f"{path}: unknown option '{key}'")

    def ignored(self, name):
        return any(fnmatch.fnmatch(name, glob) for glob in self.ignore)


def contents(folder):
    """Every file below the folder: path → bytes."""
    files = (p for p in sorted(folder.rglob("*")) if p.is_file())
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def readable(data, scratch, options):
    """Output as it is kept: machine paths by name, masked parts masked."""
    text = data.replace(os.fsencode(scratch), b"$SCRATCH").replace(os.fsencode(SOURCE), b"$SOURCE")
    for pattern in options.mask:
        text = re.sub(pattern.encode(), b"<masked>", text)
    return text


def run(case, options):
    """The outputs of the case's command by name, and the inputs that it changed."""
    with tempfile.TemporaryDirectory(prefix="assay-golden-") as folder:
        scratch = pathlib.Path(folder).resolve()
        if (case / "in").is_dir():
            shutil.copytree(case / "in", scratch / "in")
        before = contents(scratch)
        environment = {**os.environ, "SOURCE": str(SOURCE), "LC_ALL": "C.UTF-8", "TZ": "UTC",
                       "NO_COLOR": "1", "ASSAY_CACHE": "off"}
        environment.pop("COLUMNS", None)
        done = subprocess.run(["bash", "-c", (case / "cmd").read_text(encoding="utf-8")],
                              cwd=scratch, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT_S, check=False)
        after = contents(scratch)
        changed = [name for name in before if before[name] != after.get(name)]
        outputs = {"stdout": done.stdout, "stderr": done.stderr,
                   "exit": f"{done.returncode}\n".encode()}
        outputs.update({f"files/{n}": after[n] for n in after if n not in before})
        kept = {name: readable(data, scratch, options) for name, data in outputs.items()
                if not options.ignored(name.removeprefix("files/"))}
        return kept, changed


def close(a, b, tolerance):
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def same(expected, actual, tolerance):
    if expected == actual or tolerance == 0:
        return expected == actual
    old, new = expected.decode(errors="replace"), actual.decode(errors="replace")
    pairs = list(zip(NUMBER.findall(old), NUMBER.findall(new)))
    return (NUMBER.split(old) == NUMBER.split(new)
            and all(a == b or close(float(a), float(b), tolerance) for a, b in pairs))


def show_difference(name, expected, actual):
    old, new = (d.decode(errors="replace").splitlines() for d in (expected, actual))
    lines = list(difflib.unified_diff(old, new, f"expected {name}", f"actual {name}", lineterm=""))
    print("\n".join(lines[:DIFF_LINES] or [f"{name} differs in bytes that are not text"]))
    if len(lines) > DIFF_LINES:
        print(f"… and {len(lines) - DIFF_LINES} more lines")


def compare(case, outputs, options):
    """Prints what differs from out/; true when nothing does."""
    expected = {n: d for n, d in contents(case / "out").items()
                if not options.ignored(n.removeprefix("files/"))}
    wrong = False
    for name in sorted(expected.keys() | outputs.keys()):
        if name not in expected:
            print(f"{name}: not expected")
        elif name not in outputs:
            print(f"{name}: expected, but not written")
        elif same(expected[name], outputs[name], options.tolerance):
            continue
        else:
            show_difference(name, expected[name], outputs[name])
        wrong = True
    return not wrong


def update(case, outputs):
    shutil.rmtree(case / "out", ignore_errors=True)
    for name, data in outputs.items():
        path = case / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def check(case, updating):
    """Runs one case; its exit status."""
    options = Options(case)
    missing = [path for path in options.requires if not (SOURCE / path).exists()]
    if missing:
        print(f"{case.name}: skipped, {missing[0]} is not here")
        return SKIPPED
    outputs, changed = run(case, options)
    for name in changed:
        print(f"{name}: an input was changed")
    if updating and not changed:
        update(case, outputs)
        return 0
    return 0 if compare(case, outputs, options) and not changed else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="make the actual output the expected")
    parser.add_argument("cases", nargs="+", type=pathlib.Path, metavar="CASE")
    arguments = parser.parse_args()
    if not os.environ.get("ASSAY"):
        sys.exit("golden.py: set ASSAY to the program under test")
    for case in arguments.cases:
        if not (case / "cmd").is_file():
            sys.exit(f"golden.py: {case} is no case: it has no file 'cmd'")
    statuses = {check(case.resolve(), arguments.update) for case in arguments.cases}
    return 1 if 1 in statuses else max(statuses)


if __name__ == "__main__":
    sys.exit(main())
