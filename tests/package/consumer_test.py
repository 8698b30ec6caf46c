#!/usr/bin/env python3
"""Installs the C libraries, moves the installation, and builds and runs programs outside the tree
with it: by pkg-config, and by find_package of CMake.

usage: consumer_test.py BUILD_FOLDER
"""
import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = {"measure": SOURCE / "tests/package/use_measure.c",
            "allreduce": SOURCE / "tests/allreduce/c_program.c",
            "assay": SOURCE / "tests/library/c_program.c",
            "figures": SOURCE / "tests/library/figures_program.c"}  # a second header of libassay
INTERFACES = {"measure": 0, "allreduce": 1, "assay": 0, "figures": 0}  # the numbers in the SONAMEs
BENCHMARK = SOURCE / "samples/allreduce-h200/benchmark.tp2.sm90.csv"


def run(*command, **environment):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True,
                          check=False, env=os.environ | environment)
    if done.returncode:
        sys.exit(f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(is_so, what):
    if not is_so:
        sys.exit(f"not so: {what}")


def install(build, folder):
    """Under another prefix than where it is used: nothing may remember the first."""
    run("cmake", "--install", build, "--prefix", folder / "first", "--component", "development")
    (folder / "first").rename(folder / "prefix")
    return folder / "prefix"


def library(name):
    return "assay" if name in ("assay", "figures") else f"assay_{name}"


def by_pkg_config(name, prefix, folder):
    flags = run("pkg-config", "--cflags", "--libs", library(name),
                PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig")).split()
    program = folder / f"by_pkg_config_{name}"
    run("cc", "-std=gnu99", "-Wall", "-Wextra", "-Werror", "-pedantic", folder / f"use_{name}.c",
        *flags, "-o", program)
    return program


def by_cmake(names, prefix, folder):
    run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror")
    run("cmake", "--build", folder / "build")
    return {name: folder / "build" / f"use_{name}" for name in names}


def cells_without_fusion():
    with open(BENCHMARK, newline="") as file:
        return len({(row["hidden_size"], row["num_tokens"]) for row in csv.DictReader(file)
                    if row["fusion"] == "NONE"})


def check(name, program, prefix):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "--dynamic", "--wide", program))
    expect(f"lib{library(name)}.so.{INTERFACES[name]}" in needed, f"{program.name} needs {needed}")
    arguments = {"figures": [BENCHMARK, prefix], "assay": [BENCHMARK.parent]}.get(name, [])
    said = run(program, *arguments, LD_LIBRARY_PATH=str(prefix / "lib"))
    expect(name != "figures" or said == f"{cells_without_fusion()} cells have a best strategy\n",
           f"{program.name} says {said}")
    expect(name != "assay" or said.startswith("1000 answers; "), f"{program.name} says {said}")
    expect(name != "measure" or said == "5 samples, 1 ms or more\n", f"{program.name} says {said}")


def main():
    with tempfile.TemporaryDirectory(prefix="assay-consumer-") as scratch:
        folder = pathlib.Path(scratch)
        prefix = install(pathlib.Path(sys.argv[1]), folder)
        names = [name for name in PROGRAMS if (prefix / f"include/assay/{name}.h").exists()]
        expect({"measure", "assay", "figures"} <= set(names), "these libraries are always installed")
        shutil.copy(SOURCE / "tests/package/CMakeLists.txt", folder)
        for name in names:
            shutil.copy(PROGRAMS[name], folder / f"use_{name}.c")
        built = by_cmake(names, prefix, folder)
        for name in names:
            check(name, built[name], prefix)
            check(name, by_pkg_config(name, prefix, folder), prefix)
    print(f"used from outside the tree: {', '.join(names)}")


if __name__ == "__main__":
    main()
