#!/usr/bin/env python3
"""Latencies side by side in one run: NCCL and symmetric memory as PyTorch has them, and
torch.ops.assay.all_reduce with its strategies and with the one that the table chooses (AUTO).

    pip install dist/assay-*.whl
    torchrun --nproc_per_node 4 beside_pytorch.py                   # replayed from CUDA graphs
    torchrun --nproc_per_node 4 beside_pytorch.py --launch eager    # call by call from Python
    torchrun --nproc_per_node 4 beside_pytorch.py --operation all_gather

bfloat16; each round runs every way once, in random order. Prints CSV: medians over the rounds of the
slowest rank's time of a call, in microseconds. AUTO_in_place writes to its input, as PyTorch's own
NCCL does. NaN: cannot do it. Bytes are those of the whole message: what each rank gives to a
reduce-scatter, and has after an all-gather.
"""
import argparse
import os
import random
import statistics
import sys

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric_memory

import assay_allreduce
from assay_allreduce import Strategy

STRATEGIES = (Strategy.ONESHOT, Strategy.TWOSHOT_PUSH, Strategy.TWOSHOT)
CYCLES_OF_A_LAUNCH = 400_000  # 0.2 ms, longer than a host takes to launch a graph


def agreed(works):
    flag = torch.tensor([0 if works else 1], device="cuda")
    dist.all_reduce(flag)
    return flag.item() == 0


def captured(calls):
    """A graph of calls."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        calls()
    return graph.replay


def prepared(function, count, launch):
    """What runs so many calls; None where some rank cannot do it."""
    def calls():
        for _ in range(count):
            function()
    try:
        for _ in range(2):
            function()
        torch.cuda.synchronize()
        run = captured(calls) if launch == "graph" else calls
    except RuntimeError:
        run = None
    return run if agreed(run is not None) else None


def timed(run, count, launch, align):
    """Ranks begin together on their GPUs: what one of them waits for another is no part of a call."""
    begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
    dist.barrier()
    torch.cuda.synchronize()
    if launch == "graph":
        torch.cuda._sleep(CYCLES_OF_A_LAUNCH)
    align()
    begin.record()
    run()
    end.record()
    end.synchronize()
    slowest = torch.tensor([begin.elapsed_time(end) * 1e3 / count], device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return slowest.item()


def ways_of_all_reduce(elements, comms):
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
    if elements > 8 << 20:
        del ways["pytorch_one_shot"]
    for comm in comms:
        ways[comm.strategy.name] = lambda comm=comm: comm.all_reduce(source, target)
    ways["AUTO_in_place"] = lambda: torch.ops.assay.all_reduce_(source, comms[-1].number)
    return ways


def ways_of_reduce_scatter(elements, comms):
    auto = comms[-1]
    source = torch.randn(auto.size(), elements // auto.size(), device="cuda", dtype=torch.bfloat16)
    target = torch.empty_like(source[0])
    shared = symmetric_memory.empty(elements, device="cuda", dtype=torch.bfloat16)
    group = dist.group.WORLD.group_name
    symmetric_memory.rendezvous(shared, group)
    shared.normal_()
    return {
        "pytorch_nccl": lambda: dist.reduce_scatter_tensor(target, source),
        "pytorch_symmetric": lambda: torch.ops.symm_mem.reduce_scatter_out(
            shared, group, False, target),
        "AUTO": lambda: auto.reduce_scatter(source, target),
    }


def ways_of_all_gather(elements, comms):
    auto = comms[-1]
    source = torch.randn(1, elements // auto.size(), device="cuda", dtype=torch.bfloat16)
    target = source.new_empty(auto.size(), elements // auto.size())
    return {
        "pytorch_nccl": lambda: dist.all_gather_into_tensor(target, source),
        "AUTO": lambda: auto.all_gather(source, target),
    }


WAYS = {"all_reduce": ways_of_all_reduce, "reduce_scatter": ways_of_reduce_scatter,
        "all_gather": ways_of_all_gather}


def check_sum(comm, found, exact):
    """A sum against that of float64. NCCL, which AUTO may take, rounds partial sums."""
    error = ((found.double() - exact).abs() / exact.abs().clamp(min=1e-3)).max().item()
    assert error < 2.0 ** -8 or comm.strategy == Strategy.AUTO, (comm.strategy, error)


def check(comms):
    source = torch.randn(comms[0].size() << 6, 1 << 12, device="cuda", dtype=torch.bfloat16)
    exact = source.double()
    dist.all_reduce(exact)
    for comm in comms:
        check_sum(comm, comm.all_reduce(source), exact)
    pushing = comms[STRATEGIES.index(Strategy.TWOSHOT_PUSH)]
    part = exact.chunk(pushing.size())[pushing.rank()]
    check_sum(pushing, pushing.reduce_scatter(source), part)
    whole = source.new_empty(source.shape[0] * pushing.size(), source.shape[1])
    dist.all_gather_into_tensor(whole, source)
    assert torch.equal(pushing.all_gather(source), whole)


def measure(size_bytes, comms, options):
    """Times of each way, over the rounds; None of one that cannot do it."""
    count = options.calls if size_bytes < 16 << 20 else 5
    # These keep the tensors that the graphs use.
    ways = WAYS[options.operation](size_bytes // 2, comms)
    runs = {name: prepared(way, count, options.launch) for name, way in ways.items()}
    times = {name: None if run is None else [] for name, run in runs.items()}
    working = sorted(name for name, run in runs.items() if run is not None)
    one_row = torch.zeros(1024, device="cuda", dtype=torch.bfloat16)

    def align():
        comms[0].all_reduce(one_row)
    for number in range(options.rounds + 1):
        for name in random.sample(working, len(working)):
            time = timed(runs[name], count, options.launch, align)
            if number > 0:  # the first is a warm-up
                times[name].append(time)
    return times


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operation", choices=WAYS, default="all_reduce")
    parser.add_argument("--launch", choices=("graph", "eager"), default="graph")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=20, help="in one sample, below 16 MiB")
    parser.add_argument("--smallest", type=int, default=13, help="log2 of bytes")
    parser.add_argument("--largest", type=int, default=28, help="log2 of bytes")
    parser.add_argument("--reserve", type=int, default=32,
                        help="MiB of the largest message that is pushed; 0: as the workspace has it")
    options = parser.parse_args()
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=torch.device("cuda", device))
    auto = assay_allreduce.Communicator(max_message_bytes=options.reserve << 20)
    comms = [auto.with_strategy(strategy) for strategy in STRATEGIES] + [auto]
    check(comms)
    random.seed(1)  # the same order on all ranks
    for log_size in range(options.smallest, options.largest + 1):
        times = measure(1 << log_size, comms, options)
        if dist.get_rank() == 0:
            if log_size == options.smallest:
                names = list(times)
                print("bytes," + ",".join(names), flush=True)
            row = [f"{statistics.median(times[name]):.2f}" if times.get(name) else "nan"
                   for name in names]
            print(f"{1 << log_size}," + ",".join(row), flush=True)
    # Taking PyTorch's group apart can wait for ever on memory that graphs have used.
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
