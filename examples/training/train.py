#!/usr/bin/env python3
"""A small training step, profiled: the workload that 'assay sweep run' runs under many settings.

Writes <output>/torch_profiler/rank<N>/trace.json, then times steps without the profiler and has
rank 0 print one line. Started by torchrun, mpirun or srun; see README.md.
"""
import argparse
import gzip
import os
import pathlib
import shutil
import statistics

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, schedule

import decoder
import pipeline
import placement
import sharded

PARALLELISMS = {"fsdp": sharded.Training, "pipeline": pipeline.Training, "decoder": decoder.Training}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--output", type=pathlib.Path, required=True, metavar="DIR",
                        help="folder for torch_profiler/rank<N>/trace.json")
    parser.add_argument("--parallelism", choices=PARALLELISMS, default="fsdp")

    size = parser.add_argument_group("size")
    size.add_argument("--model", type=pathlib.Path, metavar="CONFIG.json",
                      help="decoder: the config.json of a model of the Llama family")
    size.add_argument("--layers", type=int, default=2,
                      help="of the whole model (fsdp) or of each stage (pipeline) [%(default)s]")
    size.add_argument("--hidden", type=int, default=6144,
                      help="width; a multiple of 128 [%(default)s]")
    size.add_argument("--sequence", type=int, default=2048, help="tokens in a row [%(default)s]")
    size.add_argument("--batch", type=int, default=1,
                      help="rows on each rank, or in each microbatch (pipeline) [%(default)s]")
    size.add_argument("--experts", type=int, default=1,
                      help="fsdp: experts on each rank; 0: no experts [%(default)s]")
    size.add_argument("--vocabulary", type=int, default=8192,
                      help="fsdp: width of the replicated output layer [%(default)s]")
    size.add_argument("--microbatches", type=int, default=4,
                      help="pipeline: microbatches in a step [%(default)s]")
    size.add_argument("--seed", type=int, default=1, help="of parameters and data [%(default)s]")

    steps = parser.add_argument_group("steps")
    steps.add_argument("--wait", type=int, default=3,
                       help="steps before the profiler starts [%(default)s]")
    steps.add_argument("--warmup", type=int, default=2,
                       help="steps with the profiler on whose events are dropped [%(default)s]")
    steps.add_argument("--active", type=int, default=10, help="steps in the trace; 0: no profiler at all "
                       "[%(default)s]")
    steps.add_argument("--steps", type=int, default=20,
                       help="steps timed without the profiler afterwards [%(default)s]")
    steps.add_argument("--gzip", action="store_true", help="write trace.json.gz")
    options = parser.parse_args()
    if options.parallelism == "decoder" and options.model is None:
        parser.error("--parallelism decoder needs --model CONFIG.json")
    return options


def write_trace(profiler, folder, compress):
    """The trace appears under its name when it is whole, so that a killed run leaves none."""
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / "trace.json.partial"
    profiler.export_chrome_trace(str(partial))
    if not compress:
        partial.replace(folder / "trace.json")
        return
    packed = folder / "trace.json.gz.partial"
    with partial.open("rb") as plain, gzip.open(packed, "wb", compresslevel=6) as out:
        shutil.copyfileobj(plain, out, 1 << 20)
    partial.unlink()
    packed.replace(folder / "trace.json.gz")


class Paced:
    """Lets the CPU run one step ahead of the GPU and no more, as trainers that log their loss do.

    Without it hundreds of kernels of earlier steps would run on into a trace's first step.
    """

    def __init__(self, training):
        self.training = training
        self.last_end = None

    def step(self):
        self.training.step()
        end = torch.cuda.Event()
        end.record()
        if self.last_end is not None:
            self.last_end.synchronize()
        self.last_end = end


def run_profiled(training, options):
    folder = options.output / "torch_profiler" / f"rank{dist.get_rank()}"
    plan = {"wait": options.wait, "warmup": options.warmup, "active": options.active}
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        schedule=schedule(**plan, repeat=1),
        record_shapes=True,
        on_trace_ready=lambda profiler: write_trace(profiler, folder, options.gzip),
    ) as profiler:
        for _ in range(sum(plan.values())):
            training.step()
            profiler.step()


def step_times_ms(training, count):
    """GPU time from the start of each step to the start of the next."""
    training.step()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    for mark in marks[:-1]:
        mark.record()
        training.step()
    marks[-1].record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in zip(marks, marks[1:])]


def print_times(times_ms, options):
    settings = [f"{name}={value}" for name, value in sorted(os.environ.items())
                if name.startswith(("NCCL_", "RCCL_"))]
    library = ".".join(map(str, torch.cuda.nccl.version()))
    print(f"median step {statistics.median(times_ms):.3f} ms "
          f"(min {min(times_ms):.3f}, max {max(times_ms):.3f}, {len(times_ms)} steps), "
          f"{options.parallelism}, {dist.get_world_size()} ranks, NCCL {library}, "
          f"settings: {' '.join(settings) or 'none'}", flush=True)


def main():
    options = parse_options()
    place = placement.find()
    device = torch.device("cuda", place.local_rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", init_method=place.init_method, rank=place.rank,
                            world_size=place.world_size, device_id=device)
    training = Paced(PARALLELISMS[options.parallelism](options, device))
    if options.active > 0:
        run_profiled(training, options)
    if options.steps > 0:
        times_ms = step_times_ms(training, options.steps)
        if place.rank == 0:
            print_times(times_ms, options)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
