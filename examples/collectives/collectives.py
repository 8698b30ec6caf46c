#!/usr/bin/env python3
"""Runs every collective at many sizes, algorithms and protocols, for 'assay record' to watch.

    assay record -o recording -- torchrun --nproc_per_node 8 collectives.py
    assay simulate fit recording -o fitted.json

With --captured each is captured into a CUDA graph once and replayed, as serving engines do.
"""
import argparse
import os

import torch
import torch.distributed as dist

# Name, NCCL_ALGO, NCCL_PROTO, largest bytes. NCCL reads them when a communicator is made.
CHOICES = [
    ("chosen by NCCL", "", "", 1 << 28),
    ("ring LL", "ring", "LL", 1 << 20),
    ("ring LL128", "ring", "LL128", 1 << 24),
    ("ring Simple", "ring", "Simple", 1 << 28),
    ("tree LL", "allreduce:tree", "LL", 1 << 20),
    ("tree Simple", "allreduce:tree", "Simple", 1 << 28),
]


def all_reduce(data, group):
    dist.all_reduce(data, group=group)


def all_gather(data, group):
    part = data.numel() // dist.get_world_size()
    dist.all_gather_into_tensor(data, data[:part].clone(), group=group)


def reduce_scatter(data, group):
    part = data.numel() // dist.get_world_size()
    dist.reduce_scatter_tensor(data[:part].clone(), data, group=group)


def broadcast(data, group):
    dist.broadcast(data, 0, group=group)


def reduce(data, group):
    dist.reduce(data, 0, group=group)


def all_to_all(data, group):
    dist.all_to_all_single(torch.empty_like(data), data, group=group)


def shift(data, group):
    rank, size = dist.get_rank(), dist.get_world_size()
    half = data.numel() // 2
    requests = dist.batch_isend_irecv([
        dist.P2POp(dist.isend, data[:half], (rank + 1) % size, group),
        dist.P2POp(dist.irecv, data[half:2 * half], (rank - 1) % size, group),
    ])
    for request in requests:
        request.wait()


REDUCED = [all_reduce]
ALL = [all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, shift]


def replayed(collective, data, group):
    """A graph of the collective, whose connections a first call makes."""
    collective(data, group)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        collective(data, group)
    return graph.replay


def measure(collective, nbytes, group, options):
    data = torch.zeros(max(nbytes // 4, 2 * dist.get_world_size()), device="cuda")
    call = replayed(collective, data, group) if options.captured else lambda: collective(data, group)
    for _ in range(options.repeats):
        # Together, so that a kernel's time is that of its work and not of waiting.
        dist.barrier()
        torch.cuda.synchronize()
        call()
        torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--captured", action="store_true", help="replay CUDA graphs")
    parser.add_argument("--smallest", type=int, default=1 << 10, metavar="BYTES")
    parser.add_argument("--largest", type=int, default=1 << 28, metavar="BYTES")
    options = parser.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    for name, algorithm, protocol, largest in CHOICES:
        for variable, value in (("NCCL_ALGO", algorithm), ("NCCL_PROTO", protocol)):
            os.environ.pop(variable, None)
            if value:
                os.environ[variable] = value
        group = dist.new_group(range(dist.get_world_size()))
        nbytes = options.smallest
        while nbytes <= min(largest, options.largest):
            for collective in REDUCED if "tree" in name else ALL:
                measure(collective, nbytes, group, options)
            nbytes *= 4
        if dist.get_rank() == 0:
            print(name, "done", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
