#!/usr/bin/env python3
"""python/assay_allreduce in a real PyTorch, with 2 ranks, which share a GPU where there is one, and
with 4 on as many GPUs: makes the wheel, installs it aside, and runs torch_ranks.py under torchrun.

usage: torch_gpu_test.py [CHECK...]
environment: LIBRARY, TORCH_OPERATORS: the shared libraries of a build
exit status: 77 where PyTorch or a GPU is missing
"""
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TABLE = SOURCE / "samples/allreduce-h200/gen_heuristic_code/allreduce_table.json"
SECONDS = 240


def gpus():
    """How many PyTorch sees, and why there are none."""
    try:
        import torch
    except ImportError as error:
        return 0, str(error)
    return torch.cuda.device_count(), "PyTorch sees no GPU"


def install(folder):
    made = subprocess.run([sys.executable, SOURCE / "tools/make_wheel.py",
                           "--library", os.environ["LIBRARY"],
                           "--operators", os.environ["TORCH_OPERATORS"], "--table",
                           f"sm90={TABLE}", "--version", "0", "-o", folder],
                          check=True, capture_output=True, text=True)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                    "--target", folder / "site", made.stdout.strip()], check=True)
    return folder / "site"


def main():
    count, reason = gpus()
    if count == 0:
        print(f"skipped: {reason}")
        return 77
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        environment = {"GLOO_SOCKET_IFNAME": "lo", "ASSAY_ALLREDUCE_SHARED_GPUS": "1",
                       "CUDA_DEVICE_MAX_CONNECTIONS": "32", **os.environ,
                       "PYTHONPATH": str(install(pathlib.Path(folder)))}
        ranks = pathlib.Path(__file__).with_name("torch_ranks.py")
        for size in (2, 4):
            if size <= max(count, 2):
                done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone",
                                       f"--nproc_per_node={size}", str(ranks), *sys.argv[1:]],
                                      timeout=SECONDS, check=False, env=environment)
                status = status or done.returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
