#!/usr/bin/env python3
"""Runs the notebooks of examples/notebooks in the distribution's Jupyter, each cell of them, and compares the
texts that they print with those that are kept in them.

usage: ENGINE=libassay.so notebooks_test.py [--update]

--update keeps what they print and draw now.
"""
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
NEEDED = "import ipykernel, matplotlib, nbclient, nbformat, numpy, pandas"
RUN = """
import difflib, re, sys, nbclient, nbformat

def texts(book):
    # The last digits of a number may be the processor's.
    printed = []
    for cell in book.cells:
        for output in cell.get("outputs", ()):
            printed += (output.get("text") or output.get("data", {}).get("text/plain", "")).splitlines()
    return [re.sub(r"\\d+\\.\\d+(e[-+]?\\d+)?", lambda number: f"{float(number[0]):.5g}", line) for line in printed]

updates, stale = sys.argv[1] == "--update", False
for path in sys.argv[1 + updates:]:
    book = nbformat.read(path, as_version=4)
    kept = texts(book)
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3").execute()
    if updates:
        for cell in book.cells:
            cell.metadata.pop("execution", None)
        nbformat.write(book, path)
    changes = [] if updates else list(difflib.unified_diff(kept, texts(book), "kept", "printed now", lineterm="", n=0))
    print(path, "ran", *changes, sep="\\n" if changes else " ")
    stale = stale or bool(changes)
if stale:
    sys.exit("what notebooks show is not what they print; notebooks_test.py --update keeps that")
"""


def main():
    if subprocess.run([PYTHON, "-c", NEEDED], check=False, capture_output=True).returncode:
        print(f"skipped: {PYTHON} has no Jupyter, NumPy, pandas or matplotlib")
        return 77
    books = sorted((SOURCE / "examples/notebooks").glob("*.ipynb"))
    assert len(books) == 3, books
    settings = {"PYTHONPATH": str(SOURCE / "python"), "ASSAY_LIBRARY": os.environ["ENGINE"],
                "ASSAY_SOURCE": str(SOURCE), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    return subprocess.run([PYTHON, "-c", RUN, *sys.argv[1:], *map(str, books)], check=False,
                          env=os.environ | settings).returncode


if __name__ == "__main__":
    sys.exit(main())
