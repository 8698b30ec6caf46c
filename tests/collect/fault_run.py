#!/usr/bin/env python3
"""A collection of 200 cases whose worker is killed, crashed and hung 20 times, on a real device.

  python3 tests/collect/fault_run.py ASSAY [--device cpu]

Run by hand: on a GPU by default. Ends with 1 unless the collection ended by itself, every case but
at most one for each fault was measured, and no worker is left.
"""
import argparse
import collections
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

CASES = 200
FAULTS = 20
KINDS = [signal.SIGKILL] * 8 + [signal.SIGSEGV] * 6 + [signal.SIGSTOP] * 6
DEADLINE_SECONDS = 3
LONGEST_SECONDS = 300
# So that faults hit cases rather than starts, which have a longer deadline of their own.
LEAST_AGE_SECONDS = 1.7


def stat_of(process):
    """The fields behind the name in /proc/PROCESS/stat: state, parent, ..."""
    text = (pathlib.Path("/proc") / str(process) / "stat").read_text(encoding="utf-8")
    return text.rsplit(")", 1)[1].split()


def descends_from(process, ancestor):
    while process > 1 and process != ancestor:
        process = int(stat_of(process)[1])
    return process == ancestor


def age_seconds(stat):
    uptime = float(pathlib.Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    return uptime - int(stat[19]) / os.sysconf("SC_CLK_TCK")


def workers(collection):
    """(process, its age) of the collection's workers that run."""
    for process in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            command = (pathlib.Path("/proc") / str(process) / "cmdline").read_bytes()
            stat = stat_of(process)
            is_worker = command.split(b"\0")[0].endswith((b"assay-worker", b"assay-cpu-worker"))
            if is_worker and stat[0] not in "ZT" and descends_from(process, collection):
                yield process, age_seconds(stat)
        except OSError:
            continue


def is_running(process):
    try:
        return stat_of(process)[0] != "Z"  # one that nobody has waited for yet is over
    except OSError:
        return False


def strike(collection, kinds):
    """Sends them to the worker, one after the other; returns those sent, and all workers seen."""
    struck, seen = [], set()
    while collection.poll() is None and len(struck) < len(kinds):
        time.sleep(random.uniform(0.2, 0.5))
        for process, age in workers(collection.pid):
            seen.add(process)
            if age >= LEAST_AGE_SECONDS:
                os.kill(process, kinds[len(struck)])
                struck.append(kinds[len(struck)].name)
                break
    return struck, seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("assay")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    arguments = parser.parse_args()
    random.seed(1)
    kinds = random.sample(KINDS, FAULTS)
    where = ["--gpus", "0"] if arguments.device == "cuda" else [
        "--device", "cpu", "--m", "1,2,3,4,5,6,7,8,9,10", "--n", "64,128,192,256", "--k",
        "64,128,192,256,320", "--dtype", "float32", "--num-runs", "200", "--repeat-n", "30"]
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        # Power takes time, so that there is some to strike in.
        with subprocess.Popen([arguments.assay, "collect", "gemm", "--grid", "coarse", "--shuffle",
                               "--limit", str(CASES), "--deadline", str(DEADLINE_SECONDS), "-q",
                               "--measure-power", "--power-seconds", "0.15", "-o", folder,
                               *where]) as collection:
            struck, seen = strike(collection, kinds)
            status = collection.wait(timeout=LONGEST_SECONDS)
        left = sum(map(is_running, seen))
        with sqlite3.connect(pathlib.Path(folder) / "perf.db") as store:
            outcomes = dict(store.execute(
                "SELECT outcome, count(*) FROM case_record GROUP BY outcome"))
    measured, failed = outcomes.get("measured", 0), outcomes.get("failed", 0)
    print(f"ended with {status} after {time.monotonic() - start:.0f} s; "
          f"faults {dict(collections.Counter(struck))}; measured {measured}, failed {failed}; "
          f"workers left {left}")
    good = status == 0 and measured + failed == CASES and failed <= len(struck) and left == 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
