#!/usr/bin/env python3
"""How far collectives of 8 GPUs are off that src/plan/price/scaled_collective.cc derives from 2 and 4.

    assay store import SYSTEMS/data/h200_sxm/comm/vllm/0.24.0 --store vllm.db      (and others)
    python3 tools/plan_scaled_collectives.py vllm.db ...

Reads stores whose tables nccl_perf and custom_allreduce_perf have rows of 2, 4 and 8 GPUs, and prints
the errors as logarithms of measured over predicted times: their median, the median of their absolute
values, and the root mean square, which is the sigma that the planner takes. Nothing is fitted. Eager
launches are left out, as the planner leaves them out. The rule is written here a second time.
"""

import collections
import math
import pathlib
import sqlite3
import statistics
import sys

TABLES = {"custom_allreduce_perf": "allreduce_dtype", "nccl_perf": "nccl_dtype"}
SIZES = [("to 32 Ki", 1 << 15), ("to 1 Mi", 1 << 20), ("larger", math.inf)]  # elements


def bus_factor(function, gpus):
    return (2 if function == "all_reduce" else 1) * (gpus - 1) / gpus


def read(path):
    """Yields a table's rows of one kernel and type as {(GPUs, message): ms}."""
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    for table, type_column in TABLES.items():
        rows = collections.defaultdict(dict)
        try:
            found = store.execute(
                f"SELECT op_name, kernel_source, {type_column}, num_gpus, message_size, latency FROM {table}"
            ).fetchall()
        except sqlite3.OperationalError:
            continue
        for function, kernel, data_type, gpus, message, latency in found:
            if kernel.endswith("_eager") or data_type not in ("bfloat16", "half"):
                continue
            rows[function, kernel, data_type].setdefault((gpus, message), latency)
        for (function, _, _), times in rows.items():
            yield table, function, times


def predicted(times, function, message, least, most):
    half, quarter = times[4, message], times[2, message]
    shortest = times[4, least] + 2 * max(0.0, times[4, least] - times[2, least])
    by_peers = half + 2 * max(0.0, half - quarter)
    growth = bus_factor(function, 8) / bus_factor(function, 4)
    by_bandwidth = 2 * shortest + growth * message * times[4, most] / most
    return max(half, min(by_peers, by_bandwidth))


def errors_of(times, function):
    messages = sorted(m for gpus, m in times if gpus == 8 and (4, m) in times and (2, m) in times)
    for message in messages:
        guess = predicted(times, function, message, messages[0], messages[-1])
        yield message, math.log(times[8, message] / guess)


def size_name(message):
    return next(name for name, most in SIZES if message <= most)


def main(paths):
    if not paths:
        sys.exit(__doc__)
    errors = collections.defaultdict(list)
    for path in paths:
        if not pathlib.Path(path).is_file():
            sys.exit(f"{path}: no such store")
        for table, function, times in read(path):
            for message, error in errors_of(times, function):
                errors[table, function, size_name(message)].append(error)
                errors[table, function, "all"].append(error)
    print(f"{'table':22} {'function':15} {'elements':9} {'rows':>5} {'median':>7} {'absolute':>9} {'rms':>6}")
    for (table, function, size), found in sorted(errors.items()):
        rms = math.sqrt(statistics.fmean(e * e for e in found))
        absolute = statistics.median(map(abs, found))
        print(f"{table:22} {function:15} {size:9} {len(found):5} {statistics.median(found):7.3f}"
              f" {absolute:9.3f} {rms:6.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
