#!/usr/bin/env python3
"""Runs the notebooks of examples/notebooks in the distribution's Jupyter, each cell of them.

usage: ENGINE=libassay.so notebooks_test.py
"""
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
NEEDED = "import ipykernel, matplotlib, nbclient, nbformat, numpy, pandas"
RUN = """
import sys, nbclient, nbformat
for path in sys.argv[1:]:
    book = nbformat.read(path, as_version=4)
    assert any(cell.get("outputs") for cell in book.cells), f"{path} was not run before it was kept"
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3").execute()
    print(path, "ran")
"""


def main():
    if subprocess.run([PYTHON, "-c", NEEDED], check=False, capture_output=True).returncode:
        print(f"skipped: {PYTHON} has no Jupyter, NumPy, pandas or matplotlib")
        return 77
    books = sorted((SOURCE / "examples/notebooks").glob("*.ipynb"))
    assert len(books) == 3, books
    settings = {"PYTHONPATH": str(SOURCE / "python"), "ASSAY_LIBRARY": os.environ["ENGINE"],
                "ASSAY_SOURCE": str(SOURCE), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    return subprocess.run([PYTHON, "-c", RUN, *map(str, books)], check=False,
                          env=os.environ | settings).returncode


if __name__ == "__main__":
    sys.exit(main())
