"""PyTorch's scaled_dot_product_attention, as an operator of `assay collect --module`.

  assay collect --module collect_sdpa.py --plan-only
  assay collect --module collect_sdpa.py -o perf
  assay collect --module collect_sdpa.py sdpa_generation --case-filter '[4096,1,' -o perf

One GPU does the part of a GPU among `tp_size`: the heads are shared out, the rest is whole. Tables
sdpa_context_perf and sdpa_generation_perf.
"""
import platform

from helper import benchmark_with_power, log_perf

HEADS = 64
KV_HEADS = 8
HEAD_DIM = 128
MOST_CONTEXT_TOKENS = 65536
MOST_CACHE_TOKENS = 1 << 20  # 4 GiB of keys and values for 8 heads of 128 in bfloat16


def get_context_sdpa_test_cases():
    return [[length, batch, tp_size, True, "sdpa_context_perf.txt"]
            for tp_size in [1, 2, 4, 8]
            for batch in [1, 4, 16, 64]
            for length in [128, 512, 1024, 2048, 4096, 8192, 16384]
            if batch * length <= MOST_CONTEXT_TOKENS]


def get_generation_sdpa_test_cases():
    return [[length, batch, tp_size, False, "sdpa_generation_perf.txt"]
            for tp_size in [1, 2, 4, 8]
            for batch in [1, 4, 16, 64, 256]
            for length in [128, 512, 1024, 2048, 4096, 8192, 16384, 65536]
            if batch * length <= MOST_CACHE_TOKENS]


def device_name(torch, device):
    if device == "cpu":
        return platform.processor() or "CPU"
    return torch.cuda.get_device_name(device)


def run_sdpa(length, batch, tp_size, is_context, perf_filename, device="cuda:0"):
    """`length` is that of the keys, the new token of a generation among them."""
    import torch  # here, so that listing the cases needs no PyTorch

    heads, kv_heads = HEADS // tp_size, max(KV_HEADS // tp_size, 1)
    queries = length if is_context else 1

    def random(num_heads, num_tokens):
        return torch.randn(batch, num_heads, num_tokens, HEAD_DIM, dtype=torch.bfloat16,
                           device=device)

    query, key, value = random(heads, queries), random(kv_heads, length), random(kv_heads, length)

    def kernel_func():
        torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=is_context,
                                                         enable_gqa=heads != kv_heads)

    with torch.no_grad(), benchmark_with_power(device, kernel_func, num_warmups=5, num_runs=6,
                                               repeat_n=1, allow_graph_fail=True) as results:
        pass
    phase = "context" if is_context else "generation"
    log_perf(
        item_list=[{
            "batch_size": batch,
            "isl": queries,
            "num_heads": heads,
            "num_key_value_heads": kv_heads,
            "head_dim": HEAD_DIM,
            "attn_dtype": "bfloat16",
            "kv_cache_dtype": "bfloat16",
            "step": 0 if is_context else length - 1,
            "latency": results["latency_ms"],
        }],
        framework="PyTorch",
        version=torch.__version__,
        device_name=device_name(torch, device),
        op_name=f"sdpa_{phase}",
        kernel_source="torch_sdpa",  # PyTorch picks the kernel itself and does not tell which
        perf_filename=perf_filename,
        power_stats=results["power_stats"],
    )
