#!/usr/bin/env python3
"""python/assay_allreduce in a real PyTorch, on 2 GPUs and on 4 if there are as many: torch_ranks.py
under torchrun.

usage: torch_gpu_test.py [CHECK...]     the package must be importable: a wheel that was installed
exit status: 77 where PyTorch or two GPUs are missing
"""
import os
import pathlib
import subprocess
import sys

SECONDS = 240


def main():
    try:
        import torch
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    gpus = torch.cuda.device_count()
    if gpus < 2:
        print(f"skipped: {gpus} GPUs")
        return 77
    ranks = pathlib.Path(__file__).with_name("torch_ranks.py")
    status = 0
    for count in (2, 4):
        if count <= gpus:
            done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone",
                                   f"--nproc_per_node={count}", str(ranks), *sys.argv[1:]],
                                  timeout=SECONDS, check=False,
                                  env={"GLOO_SOCKET_IFNAME": "lo", **os.environ})
            status = status or done.returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
