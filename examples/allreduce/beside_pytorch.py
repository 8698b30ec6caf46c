#!/usr/bin/env python3
"""All-reduce latencies side by side in one run: NCCL and symmetric memory as PyTorch has them, and
the strategies of libassay_allreduce, called through ctypes as a framework would.

    torchrun --nproc_per_node 4 beside_pytorch.py --library lib/libassay_allreduce.so

bfloat16, replayed from CUDA graphs; each round replays every way once, in random order. Prints CSV:
medians over the rounds of the slowest rank's time of a call, in microseconds. NaN: cannot do it.
"""
import argparse
import ctypes
import os
import random
import statistics
import sys

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric_memory

STRATEGIES = {"ONESHOT": 4, "TWOSHOT_PUSH": 100, "TWOSHOT": 5}


class Call(ctypes.Structure):
    """assay_allreduce_call"""
    _fields_ = [("size", ctypes.c_size_t), ("strategy", ctypes.c_int), ("fusion", ctypes.c_int),
                ("data_type", ctypes.c_int), ("num_tokens", ctypes.c_int64),
                ("hidden_size", ctypes.c_int64), ("input", ctypes.c_void_p),
                ("output", ctypes.c_void_p), ("residual_in", ctypes.c_void_p),
                ("residual_out", ctypes.c_void_p), ("gamma", ctypes.c_void_p),
                ("epsilon", ctypes.c_float), ("scale", ctypes.c_void_p),
                ("quantized", ctypes.c_void_p), ("scale_out", ctypes.c_void_p),
                ("blocks", ctypes.c_int), ("threads", ctypes.c_int), ("operation", ctypes.c_int),
                ("weight_bias", ctypes.c_float), ("scale_layout", ctypes.c_int)]


class Options(ctypes.Structure):
    """assay_allreduce_options"""
    _fields_ = [("size", ctypes.c_size_t), ("workspace_bytes", ctypes.c_size_t),
                ("use_nccl", ctypes.c_int), ("deterministic", ctypes.c_int),
                ("deadline_seconds", ctypes.c_double)]


class Communicator:
    def __init__(self, path):
        self.functions = ctypes.CDLL(path)
        self.functions.assay_allreduce_error.restype = ctypes.c_char_p
        self.comm = ctypes.c_void_p()
        options = Options(ctypes.sizeof(Options), 512 << 20, 0)
        self.check(self.functions.assay_allreduce_create(
            dist.get_rank(), dist.get_world_size(), ctypes.byref(options), ctypes.byref(self.comm)))
        mine = ctypes.create_string_buffer(256)
        self.check(self.functions.assay_allreduce_export(self.comm, mine))
        handles = [None] * dist.get_world_size()
        dist.all_gather_object(handles, mine.raw)
        self.check(self.functions.assay_allreduce_connect(self.comm, b"".join(handles)))

    def check(self, status):
        if status:
            raise RuntimeError(self.functions.assay_allreduce_error().decode())

    def run(self, strategy, source, target):
        call = Call(size=ctypes.sizeof(Call), strategy=STRATEGIES[strategy], num_tokens=1,
                    hidden_size=source.numel(), input=source.data_ptr(), output=target.data_ptr())
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.check(self.functions.assay_allreduce_run(self.comm, ctypes.byref(call), stream))


def agreed(works):
    flag = torch.tensor([0 if works else 1], device="cuda")
    dist.all_reduce(flag)
    return flag.item() == 0


def captured(function, calls):
    """A graph of so many calls; None where some rank cannot do it."""
    try:
        for _ in range(2):
            function()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                function()
    except RuntimeError:
        graph = None
    return graph if agreed(graph is not None) else None


def timed(graph, calls):
    begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
    dist.barrier()
    torch.cuda.synchronize()
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    slowest = torch.tensor([begin.elapsed_time(end) * 1e3 / calls], device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return slowest.item()


def ways_for(size_bytes, comm):
    elements = size_bytes // 2
    source = torch.randn(elements, device="cuda", dtype=torch.bfloat16)
    target = torch.empty_like(source)
    shared = symmetric_memory.empty(elements, device="cuda", dtype=torch.bfloat16)
    group = dist.group.WORLD.group_name
    symmetric_memory.rendezvous(shared, group)
    shared.normal_()
    operators = torch.ops.symm_mem
    ways = {
        "pytorch_nccl": lambda: dist.all_reduce(source),
        "pytorch_one_shot": lambda: operators.one_shot_all_reduce(shared, "sum", group),
        "pytorch_two_shot": lambda: operators.two_shot_all_reduce_(shared, "sum", group),
    }
    if size_bytes > 16 << 20:
        del ways["pytorch_one_shot"]
    for name in STRATEGIES:
        ways[name] = lambda name=name: comm.run(name, source, target)
    return ways


def check(comm):
    """The sums against those of float64."""
    source = torch.randn(1 << 20, device="cuda", dtype=torch.bfloat16)
    exact = source.double()
    dist.all_reduce(exact)
    for name in STRATEGIES:
        target = torch.empty_like(source)
        comm.run(name, source, target)
        error = ((target.double() - exact).abs() / exact.abs().clamp(min=1e-3)).max().item()
        assert error < 2.0 ** -8, (name, error)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", dest="shared_object", default="libassay_allreduce.so")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--smallest", type=int, default=13, help="log2 of bytes")
    parser.add_argument("--largest", type=int, default=28, help="log2 of bytes")
    options = parser.parse_args()
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=torch.device("cuda", device))
    comm = Communicator(options.shared_object)
    check(comm)
    random.seed(1)  # the same order on all ranks
    names = ["pytorch_nccl", "pytorch_one_shot", "pytorch_two_shot", *STRATEGIES]
    if dist.get_rank() == 0:
        print("bytes," + ",".join(names), flush=True)
    for log_size in range(options.smallest, options.largest + 1):
        calls = 20 if log_size < 24 else 5
        ways = ways_for(1 << log_size, comm)  # keeps the tensors that the graphs use
        graphs = {name: captured(way, calls) for name, way in ways.items()}
        times = {name: [] for name, graph in graphs.items() if graph is not None}
        for number in range(options.rounds + 1):
            for name in random.sample(sorted(times), len(times)):
                time = timed(graphs[name], calls)
                if number > 0:  # the first is a warm-up
                    times[name].append(time)
        if dist.get_rank() == 0:
            row = [f"{statistics.median(times[name]):.2f}" if name in times else "nan"
                   for name in names]
            print(f"{1 << log_size}," + ",".join(row), flush=True)
        del graphs, ways
    # Taking PyTorch's group apart can wait for ever on memory that graphs have used.
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
