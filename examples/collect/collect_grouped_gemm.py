"""The product of a mixture of experts in PyTorch, as an operator of `assay collect --module`.

  assay collect --module collect_grouped_gemm.py --plan-only
  assay collect --module collect_grouped_gemm.py -o perf

Tokens are shared out evenly to the experts. Where PyTorch has a grouped product for this GPU it is
measured, elsewhere one product an expert; kernel_source says which. Table grouped_gemm_perf.
"""
import platform

from helper import benchmark_with_power, get_sm_version, log_perf

# n (of gate and up together), k, experts, experts a token goes to
SHAPES = [
    [4096, 7168, 256, 8],
    [3072, 4096, 128, 8],
    [28672, 4096, 8, 2],
]


def get_grouped_gemm_test_cases():
    return [[tokens, n, k, experts, topk, "grouped_gemm_perf.txt"]
            for n, k, experts, topk in SHAPES
            for tokens in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]]


def rows_of_experts(rows, experts):
    return [rows // experts + (1 if expert < rows % experts else 0) for expert in range(experts)]


def has_grouped_product(torch, device):
    return device != "cpu" and hasattr(torch, "_grouped_mm") and get_sm_version() >= 90


def run_grouped_gemm(tokens, n, k, experts, topk, perf_filename, device="cuda:0"):
    import torch  # here, so that listing the cases needs no PyTorch

    rows = tokens * topk
    counts = rows_of_experts(rows, experts)
    inputs = torch.randn(rows, k, dtype=torch.bfloat16, device=device)
    weights = torch.randn(experts, n, k, dtype=torch.bfloat16, device=device).transpose(-2, -1)
    ends = torch.tensor(counts, device=device).cumsum(0).to(torch.int32)
    parts = [(part, weights[expert])
             for expert, part in enumerate(torch.split(inputs, counts)) if len(part) > 0]

    def grouped():
        torch._grouped_mm(inputs, weights, offs=ends)

    def one_by_one():
        for part, weight in parts:
            torch.mm(part, weight)

    is_grouped = has_grouped_product(torch, device)
    with torch.no_grad(), benchmark_with_power(
            device, grouped if is_grouped else one_by_one, num_warmups=5, num_runs=6, repeat_n=1,
            allow_graph_fail=True) as results:
        pass
    is_cpu = device == "cpu"
    log_perf(
        item_list=[{
            "gemm_dtype": "bfloat16",
            "num_tokens": tokens,
            "n": n,
            "k": k,
            "topk": topk,
            "num_experts": experts,
            "latency": results["latency_ms"],
        }],
        framework="PyTorch",
        version=torch.__version__,
        device_name=platform.processor() or "CPU" if is_cpu else torch.cuda.get_device_name(device),
        op_name="grouped_gemm",
        kernel_source="torch_grouped_mm" if is_grouped else "torch_mm_per_expert",
        perf_filename=perf_filename,
        power_stats=results["power_stats"],
    )
