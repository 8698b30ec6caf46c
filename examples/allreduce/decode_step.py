#!/usr/bin/env python3
"""A decoding step of a tensor-parallel transformer, with random weights and Llama 70B's layer sizes:
the time of a step where its sums over the GPUs are NCCL's, those of PyTorch's symmetric memory, or
torch.ops.assay's, followed by the norm or fused with it.

    pip install dist/assay-*.whl
    torchrun --nproc_per_node 4 decode_step.py                      # 45 GB of each GPU
    torchrun --nproc_per_node 4 decode_step.py --layers 8

bfloat16; a step is one CUDA graph of all layers; each round replays every way once, in random order.
Behind NCCL and symmetric memory one Triton kernel of torch.compile adds the residual and norms.
Prints CSV: medians over the rounds of the slowest rank's time of a step, in microseconds; the part
of a step in which sums and norms run, and what lies before them, by PyTorch's profiler; and how far
the outputs of the ways are from NCCL's, at most. The part is the better measure of a way to sum:
products between two sums take up to a tenth more or less from way to way.
"""
import argparse
import os
import random
import re
import statistics
import sys

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric_memory
import torch.nn.functional as functional
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

import assay_allreduce

HIDDEN, INTERMEDIATE, HEADS, KV_HEADS, HEAD_SIZE = 8192, 28672, 64, 8, 128
EPSILON = 1e-5
# "no_sum" leaves the sums out: what no way to sum can go below.
WAYS = ("no_sum", "nccl", "symmetric_memory", "assay", "assay_fused")
ONE_KERNEL = ("no_sum", "assay_fused")  # where others have a sum and a norm
# The kernels of all ways, and the Triton kernel of add_norm().
SUM_OR_NORM = re.compile("all_?reduce|add_mean", re.IGNORECASE)
PROFILES = 3


@torch.compile
def add_norm(summed, residual, gamma):
    """The residual and its RMS norm, as one kernel."""
    added = summed + residual
    wide = added.float()
    normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPSILON) * gamma.float()
    return added, normed.to(summed.dtype)


@torch.compile
def gated(both):
    gate, up = both.chunk(2, -1)
    return functional.silu(gate) * up


class Layer:
    """One rank's share of the weights, and its keys and values."""

    def __init__(self, ranks):
        def weight(outputs, inputs):
            return torch.randn(outputs, inputs, device="cuda", dtype=torch.bfloat16) / inputs ** 0.5
        self.heads, self.kv_heads = HEADS // ranks, max(KV_HEADS // ranks, 1)
        self.qkv = weight((self.heads + 2 * self.kv_heads) * HEAD_SIZE, HIDDEN)
        self.out = weight(HIDDEN, self.heads * HEAD_SIZE)
        self.gate_up = weight(2 * INTERMEDIATE // ranks, HIDDEN)
        self.down = weight(HIDDEN, INTERMEDIATE // ranks)
        self.gammas = [torch.ones(HIDDEN, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
        self.keys = self.values = None

    def attend_to(self, batch, context):
        """Makes room for so many sequences of so many tokens."""
        shape = (batch, self.kv_heads, context, HEAD_SIZE)
        self.keys = self.values = None  # gives the old room back before it takes the new
        self.keys = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        self.values = torch.randn(shape, device="cuda", dtype=torch.bfloat16)

    def attention(self, normed):
        """Before the output's weights. The new token's keys and values take the last place."""
        queries, keys, values = functional.linear(normed, self.qkv).split(
            (self.heads * HEAD_SIZE, self.kv_heads * HEAD_SIZE, self.kv_heads * HEAD_SIZE), -1)
        self.keys[:, :, -1] = keys.unflatten(-1, (self.kv_heads, HEAD_SIZE))
        self.values[:, :, -1] = values.unflatten(-1, (self.kv_heads, HEAD_SIZE))
        queries = queries.unflatten(-1, (self.heads, HEAD_SIZE))[:, :, None]
        attended = functional.scaled_dot_product_attention(queries, self.keys, self.values,
                                                           enable_gqa=True)
        return attended.flatten(1)

    def feed_forward(self, normed):
        """Before the weights down."""
        return gated(functional.linear(normed, self.gate_up))


class Model:
    """All layers of one rank, and the ways to sum behind a product with row-split weights."""

    def __init__(self, layers, comm):
        self.layers = [Layer(dist.get_world_size()) for _ in range(layers)]
        self.comm = comm
        self.group = dist.group.WORLD.group_name
        self.shared, self.one_shot = None, True

    def decode(self, batch, context):
        """Makes room for so many sequences of so many tokens."""
        for layer in self.layers:
            layer.attend_to(batch, context)
        self.shared = symmetric_memory.empty(batch, HIDDEN, device="cuda", dtype=torch.bfloat16)
        symmetric_memory.rendezvous(self.shared, self.group)
        # Where its one-shot is the faster one, by samples/allreduce-h200/beside_pytorch.*.csv.
        self.one_shot = self.shared.numel() * 2 <= (1 << 20 if dist.get_world_size() == 2 else 1 << 17)

    def reduced(self, way, activation, weight, residual, gamma):
        """The residual with the sum over the ranks of a product, and its norm."""
        if way == "symmetric_memory":
            torch.mm(activation, weight.t(), out=self.shared)
            if self.one_shot:
                summed = torch.ops.symm_mem.one_shot_all_reduce(self.shared, "sum", self.group)
            else:
                summed = torch.ops.symm_mem.two_shot_all_reduce_(self.shared, "sum", self.group)
            return add_norm(summed, residual, gamma)
        partial = functional.linear(activation, weight)
        if way == "nccl":
            dist.all_reduce(partial)
        if way in ("nccl", "no_sum"):
            return add_norm(partial, residual, gamma)
        if way == "assay":
            return add_norm(self.comm.all_reduce(partial), residual, gamma)
        return residual, self.comm.all_reduce_rms_norm(partial, residual, gamma, EPSILON)

    def step(self, way, token):
        residual = token.clone()
        normed = functional.rms_norm(token, (HIDDEN,), eps=EPSILON)
        for layer in self.layers:
            residual, normed = self.reduced(way, layer.attention(normed), layer.out, residual,
                                            layer.gammas[0])
            residual, normed = self.reduced(way, layer.feed_forward(normed), layer.down, residual,
                                            layer.gammas[1])
        return normed


def captured(model, way, token):
    """A graph of a step, and where its output is."""
    for _ in range(2):
        model.step(way, token)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = model.step(way, token)
    return graph, output


def timed(graph):
    begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
    dist.barrier()
    torch.cuda.synchronize()
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    slowest = torch.tensor([begin.elapsed_time(end) * 1e3], device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return slowest.item()


def time_of_sums(graph, fewest):
    """The time from the kernel before each sum or norm to its end, over a step that has `fewest` of
    them or more. Each counts on the rank where it is shortest, which waited least for the others."""
    dist.barrier()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        graph.replay()
        graph.replay()
        torch.cuda.synchronize()
    kernels = sorted((event.time_range.start, event.time_range.end, event.name)
                     for event in profiled.events() if event.device_type == DeviceType.CUDA)
    kernels = kernels[len(kernels) // 2:]  # the ranks do not begin the first step together
    times = torch.tensor([end - end_before for (_, end_before, _), (_, end, name)
                          in zip(kernels, kernels[1:]) if SUM_OR_NORM.search(name)], device="cuda")
    if len(times) < fewest:
        raise RuntimeError(f"{fewest} sums and norms were expected, {len(times)} kernels have such names")
    dist.all_reduce(times, op=dist.ReduceOp.MIN)
    return times.sum().item()


def measure(model, token, rounds):
    """Medians of the ways' times and of those of their sums, and the largest difference of an output
    from NCCL's."""
    graphs = {way: captured(model, way, token) for way in WAYS}
    times = {way: [] for way in WAYS}
    for number in range(rounds + 2):
        for way in random.sample(WAYS, len(WAYS)):
            time = timed(graphs[way][0])
            if number > 1:  # the first are warm-ups
                times[way].append(time)
    reference = graphs["nccl"][1].float()
    difference = max((graphs[way][1].float() - reference).abs().max().item() for way in WAYS[1:])
    places = 2 * len(model.layers)
    sums = [statistics.median(time_of_sums(graphs[way][0], places if way in ONE_KERNEL else 2 * places)
                              for _ in range(PROFILES)) for way in WAYS]
    return [statistics.median(times[way]) for way in WAYS], sums, difference


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=80)
    parser.add_argument("--context", type=int, default=1024, help="tokens that are attended to")
    parser.add_argument("--batches", default="1,8,32,128", help="sequences that decode at once")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=torch.device("cuda", device))
    comm = assay_allreduce.Communicator(use_nccl=False)
    random.seed(1)  # the same order on all ranks
    torch.manual_seed(1 + dist.get_rank())
    if dist.get_rank() == 0:
        columns = [f"{way} (us)" for way in WAYS] + [f"{way} sums and norms (us)" for way in WAYS]
        print(f"layers,batch,{','.join(columns)},difference", flush=True)
    model = Model(options.layers, comm)
    for batch in map(int, options.batches.split(",")):
        model.decode(batch, options.context)
        token = torch.randn(batch, HIDDEN, device="cuda", dtype=torch.bfloat16)
        dist.broadcast(token, 0)
        steps, sums, difference = measure(model, token, options.rounds)
        if dist.get_rank() == 0:
            print(f"{options.layers},{batch},{','.join(f'{time:.1f}' for time in steps + sums)},"
                  f"{difference:.3g}", flush=True)
    # Taking PyTorch's group apart can wait for ever on memory that graphs have used.
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
