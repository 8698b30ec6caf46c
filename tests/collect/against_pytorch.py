#!/usr/bin/env python3
"""Products and attention as `assay collect` measures them, beside PyTorch's on the same shapes.

  python3 tests/collect/against_pytorch.py ASSAY [FOLDER]

Needs a GPU and PyTorch. PyTorch's side is timed by PyTorch alone: events around replays of a graph
of many launches. Of its kernels for a shape the fastest counts. Prints a line for each shape and the
median of the ratios, assay's time over PyTorch's; exits with 1 where that is off by more than 3 %.
"""
import math
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

MOST_DEVIATION = 0.03
REST_SECONDS = 0.05  # so that no kernel finds the power cap of the one before
REPLAYS = 11
DEVICE = "cuda:0"

PRODUCTS = {"dtype": ["bfloat16", "fp8"], "m": [1, 16, 256, 2048], "n": [4096, 12288],
            "k": [4096, 8192]}
CONTEXTS = {"batch_size": [1, 4], "isl": [512, 1024, 2048, 4096], "step": [0]}
GENERATIONS = {"batch_size": [1, 4, 16, 64], "isl": [1], "step": [1023, 4095, 8191]}
HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128


def collect(assay, folder, operator, **axes):
    """Latencies in ms by (dtype, sizes ...)."""
    options = [word for name, values in axes.items()
               for word in ("--" + name.replace("_", "-"), ",".join(map(str, values)))]
    subprocess.run([assay, "collect", operator, "-o", str(folder), "--new-run", "-q", *options],
                   check=True)


def rows_of(folder, query):
    with sqlite3.connect(folder / "perf.db") as store:
        return {row[:-1]: row[-1] for row in store.execute(query)}


def time_ms(torch, kernel):
    """The median of replays of about a millisecond."""
    def elapsed_ms(run):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    for _ in range(3):
        kernel()
    launches = max(1, min(500, math.ceil(1 / elapsed_ms(kernel))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            kernel()
    graph.replay()
    time.sleep(REST_SECONDS)
    return statistics.median(elapsed_ms(graph.replay) for _ in range(REPLAYS)) / launches


def torch_product(torch, dtype, m, n, k):
    a = torch.randn(m, k, device=DEVICE, dtype=torch.bfloat16)
    w = torch.randn(n, k, device=DEVICE, dtype=torch.bfloat16)
    if dtype == "bfloat16":
        out = torch.empty(m, n, device=DEVICE, dtype=torch.bfloat16)
        return [lambda: torch.mm(a, w.t(), out=out)]
    a8, w8 = a.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
    one = torch.ones((), device=DEVICE)
    return [lambda: torch._scaled_mm(a8, w8.t(), one, one, out_dtype=torch.bfloat16,
                                     use_fast_accum=True)]


def torch_attention(torch, batch, queries, keys):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def random(heads, tokens):
        # Tokens before heads in memory, as serving engines have them.
        return torch.randn(batch, tokens, heads, HEAD_DIM, device=DEVICE,
                           dtype=torch.bfloat16).transpose(1, 2)

    query, key, value = random(HEADS, queries), random(KV_HEADS, keys), random(KV_HEADS, keys)

    def by(backend):
        def kernel():
            with sdpa_kernel(backend):
                torch.nn.functional.scaled_dot_product_attention(
                    query, key, value, is_causal=queries > 1, enable_gqa=True)
        return kernel

    return [by(SDPBackend.CUDNN_ATTENTION), by(SDPBackend.FLASH_ATTENTION)]


def fastest_ms(torch, kernels):
    times = []
    for kernel in kernels:
        try:
            with torch.no_grad():
                times.append(time_ms(torch, kernel))
        except RuntimeError as error:  # a path that has no kernel for the shape
            print(f"  PyTorch: {str(error).splitlines()[0][:90]}", file=sys.stderr)
    torch.cuda.empty_cache()
    return min(times)


def compare(torch, ours, make):
    ratios = []
    for shape, our_ms in ours.items():
        their_ms = fastest_ms(torch, make(*shape))
        ratios.append(our_ms / their_ms)
        print(f"{' '.join(map(str, shape)):34} {our_ms * 1e3:10.2f} us "
              f"{their_ms * 1e3:10.2f} us  {ratios[-1]:6.3f}")
    return ratios


def main():
    assay = os.path.abspath(sys.argv[1])
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    heads = {"num_heads": [HEADS], "kv_heads": [KV_HEADS], "head_dim": [HEAD_DIM], "window": [0],
             "dtype": ["bfloat16"], "kv_dtype": ["bfloat16"]}
    collect(assay, folder, "gemm", **PRODUCTS)
    collect(assay, folder, "context_attention", **CONTEXTS, **heads)
    collect(assay, folder, "generation_attention", **GENERATIONS, **heads)
    print(f"{'shape':34} {'assay':>13} {'PyTorch':>13}  ratio")
    ratios = compare(torch,
                     rows_of(folder, "SELECT gemm_dtype, m, n, k, latency FROM gemm_perf"),
                     lambda *shape: torch_product(torch, *shape))
    ratios += compare(torch, rows_of(folder, """
        SELECT batch_size, isl, isl + step, latency FROM context_attention_perf
        UNION ALL
        SELECT batch_size, 1, isl + step, latency FROM generation_attention_perf"""),
                      lambda *shape: torch_attention(torch, *shape))
    median = statistics.median(ratios)
    print(f"{len(ratios)} shapes: median ratio {median:.4f}, "
          f"10th and 90th percentile {statistics.quantiles(ratios, n=10)[0]:.3f} "
          f"and {statistics.quantiles(ratios, n=10)[-1]:.3f}; PyTorch {torch.__version__}, "
          f"{torch.cuda.get_device_name()}")
    return 0 if abs(median - 1) <= MOST_DEVIATION else 1


if __name__ == "__main__":
    sys.exit(main())
