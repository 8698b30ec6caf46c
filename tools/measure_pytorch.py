#!/usr/bin/env python3
"""Times PyTorch's products and attention at random shapes of models/*.json, or at those of another
folder, for comparing with what `assay store query --batch` answers there.

Weights and caches are cold: launches rotate through copies that together exceed the L2 cache four
times; activations are hot. With --l2 hot, all launches have the same data. A sample is one replay of
a CUDA graph of many launches; the time is the median of the samples, divided by the launches.

usage: measure_pytorch.py OUTPUT_FOLDER [--seed N] [--l2 engine|hot]
                          [--shapes FOLDER [--every N]] [--assay PROGRAM]
  --shapes FOLDER  the shapes of a folder that this program has written; every Nth of each file
  --assay PROGRAM  then measures the same shapes with `PROGRAM collect`, into OUTPUT_FOLDER/perf.db
writes gemm.csv, context_attention.csv and generation_attention.csv, with the columns of the tables
and latency_ms.
"""
import argparse
import csv
import json
import pathlib
import random
import statistics
import subprocess
import sys

import torch
import torch.nn.functional as functional

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"
PRODUCTS, CONTEXTS, GENERATIONS = 180, 60, 70
SAMPLES = 15
SAMPLE_MS = 2.0
MOST_LAUNCHES = 400
L2_BYTES = torch.cuda.get_device_properties(0).L2_cache_size
MOST_CACHE_BYTES = 24 << 30
TABLES = {
    "gemm": ["gemm_dtype", "m", "n", "k"],
    "context_attention": ["batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim",
                          "window_size", "attn_dtype", "kv_cache_dtype", "step"],
}
TABLES["generation_attention"] = TABLES["context_attention"]
# The options of `assay collect` that have other names than the columns.
OPTION_OF = {"gemm_dtype": "dtype", "attn_dtype": "dtype", "kv_cache_dtype": "kv-dtype",
             "num_key_value_heads": "kv-heads", "window_size": "window"}


def options():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--l2", choices=("engine", "hot"), default="engine")
    parser.add_argument("--shapes", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--assay")
    return parser.parse_args()


OPTIONS = options()


def configs():
    for path in sorted(MODELS.glob("*.json")):
        config = json.loads(path.read_text(encoding="utf-8"))
        if "kv_lora_rank" in config or "linear_num_key_heads" in config:
            continue  # their attention is another operator's
        config["head_dim"] = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
        yield config


def heads_of(config, tp):
    return config["num_attention_heads"] // tp, -(-config["num_key_value_heads"] // tp)


def weights_of(config, tp):
    """(n, k) of the projections of a GPU."""
    hidden, size = config["hidden_size"], config["head_dim"]
    heads, kv_heads = heads_of(config, tp)
    width = config["intermediate_size"] // tp
    return [((heads + 2 * kv_heads) * size, hidden), (hidden, heads * size),
            (2 * width, hidden), (hidden, width)]


def time_ms(launches, expected_ms):
    """The time of one of the launches, which are functions that rotate buffers."""
    count = max(len(launches), min(MOST_LAUNCHES, int(SAMPLE_MS / max(expected_ms, 1e-3)) + 1))
    for launch in launches[:3]:
        launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for index in range(count):
            launches[index % len(launches)]()
    graph.replay()
    times = []
    for _ in range(SAMPLES):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / count)
    del graph
    return statistics.median(times)


def copies_of(num_bytes):
    return 1 if OPTIONS.l2 == "hot" else max(1, min(256, -(-4 * L2_BYTES // num_bytes)))


def product_ms(dtype, m, n, k):
    copies = copies_of(n * k * (1 if dtype == "fp8" else 2))
    x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    weights = [torch.randn(n, k, device="cuda", dtype=torch.bfloat16) for _ in range(copies)]
    if dtype == "bfloat16":
        out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        launches = [lambda w=w: torch.mm(x, w.t(), out=out) for w in weights]
    else:
        one = torch.ones((), device="cuda")
        x = x.to(torch.float8_e4m3fn)
        weights = [w.to(torch.float8_e4m3fn) for w in weights]
        launches = [lambda w=w: torch._scaled_mm(x, w.t(), scale_a=one, scale_b=one,
                                                 out_dtype=torch.bfloat16, use_fast_accum=True)
                    for w in weights]
    return time_ms(launches, 2e-12 * m * n * k / 0.6)


def attention_ms(batch, queries, keys, heads, kv_heads, size, causal):
    cache = 2 * batch * keys * kv_heads * size * 2
    copies = copies_of(cache)
    q = torch.randn(batch, heads, queries, size, device="cuda", dtype=torch.bfloat16)
    caches = [torch.randn(2, batch, kv_heads, keys, size, device="cuda", dtype=torch.bfloat16)
              for _ in range(copies)]
    best = None
    for backend in (torch.nn.attention.SDPBackend.FLASH_ATTENTION,
                    torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
        try:
            with torch.nn.attention.sdpa_kernel(backend):
                launches = [lambda c=c: functional.scaled_dot_product_attention(
                    q, c[0], c[1], is_causal=causal, enable_gqa=kv_heads < heads) for c in caches]
                ms = time_ms(launches, 4e-12 * batch * heads * queries * keys * size)
        except RuntimeError as error:
            print(f"# {backend}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        best = ms if best is None else min(best, ms)
    return best


def log_uniform(draw, low, high):
    return int(round(low * (high / low) ** draw.random()))


def write(path, columns, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "latency_ms"])
        writer.writerows(rows)
    print(f"{path}: {len(rows)} rows")


def measure_products(draw, models):
    rows = []
    while len(rows) < 2 * PRODUCTS:
        n, k = draw.choice(weights_of(draw.choice(models), draw.choice([1, 2, 4, 8])))
        m = log_uniform(draw, 1, 8192)
        if n % 16 or k % 16:
            continue
        for dtype in ("bfloat16", "fp8"):
            rows.append([dtype, m, n, k, product_ms(dtype, m, n, k)])
    return rows


def measure_attention(draw, models, count, is_context):
    rows = []
    while len(rows) < count:
        config = draw.choice(models)
        heads, kv_heads = heads_of(config, draw.choice([1, 2, 4, 8]))
        size = config["head_dim"]
        batch = log_uniform(draw, 1, 16 if is_context else 256)
        length = log_uniform(draw, 16, 16384) if is_context else log_uniform(draw, 64, 65536)
        cache = 4 * batch * length * kv_heads * size
        if heads % kv_heads or cache > MOST_CACHE_BYTES or (is_context and batch * length > 65536):
            continue
        ms = attention_ms(batch, length if is_context else 1, length, heads, kv_heads, size,
                          is_context)
        torch.cuda.empty_cache()
        if ms is None:
            continue
        isl, step = (length, 0) if is_context else (1, length - 1)
        rows.append([batch, isl, heads, kv_heads, size, 0, "bfloat16", "bfloat16", step, ms])
    return rows


def random_rows(draw, table):
    models = list(configs())
    if table == "gemm":
        return measure_products(draw, models)
    is_context = table == "context_attention"
    return measure_attention(draw, models, CONTEXTS if is_context else GENERATIONS, is_context)


def rows_of_shapes(table):
    with open(OPTIONS.shapes / f"{table}.csv", newline="", encoding="utf-8") as file:
        shapes = list(csv.DictReader(file))[::OPTIONS.every]
    rows = []
    for shape in shapes:
        values = [shape[name] if "dtype" in name else int(shape[name]) for name in TABLES[table]]
        if table == "gemm":
            ms = product_ms(*values)
        else:
            batch, isl, heads, kv_heads, size, step = (*values[:5], values[-1])
            ms = attention_ms(batch, isl, isl + step, heads, kv_heads, size, isl > 1)
            torch.cuda.empty_cache()
        if ms is not None:
            rows.append([*values, ms])
    return rows


def collect(table, rows):
    """Every value is told to the axes of `assay collect`, and the cases of the rows chosen by name."""
    columns = TABLES[table]
    command = [OPTIONS.assay, "collect", table, "--l2", OPTIONS.l2, "--new-run", "-o",
               str(OPTIONS.folder)]
    for place, column in enumerate(columns):
        name = OPTION_OF.get(column, column.replace("_", "-"))
        command += [f"--{name}", ",".join(sorted({str(row[place]) for row in rows}))]
    for row in rows:
        names = " ".join(f"{column}={value}" for column, value in zip(columns, row))
        command += ["--case-filter", f"{table} {names}"]
    print(table, OPTIONS.l2, "assay collect:", subprocess.run(command, check=False).returncode)


def main():
    OPTIONS.folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(OPTIONS.seed)
    print(torch.cuda.get_device_name(), torch.__version__, "CUDA", torch.version.cuda)
    for table, columns in TABLES.items():
        rows = rows_of_shapes(table) if OPTIONS.shapes else random_rows(draw, table)
        write(OPTIONS.folder / f"{table}.csv", columns, rows)
        if OPTIONS.assay:
            torch.cuda.empty_cache()
            collect(table, rows)


main()
