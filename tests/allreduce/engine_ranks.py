#!/usr/bin/env python3
"""One rank of an engine's own tensor-parallel group with assay_allreduce in it, on GPUs. Run by hand where
vLLM or SGLang is installed beside the wheel that ./dev package makes:

    torchrun --nproc_per_node 2 tests/allreduce/engine_ranks.py vllm
    torchrun --nproc_per_node 2 tests/allreduce/engine_ranks.py sglang

The engine makes the group, captures the graphs and chooses who sums; sums are compared with those in
float64, and times with those of its own class, where that can be made, and of NCCL. vLLM finds the plugin as
it does in service. Their all-reduce over symmetric memory is off: it needs NVLink multicast, which not every
host allows.
"""
import argparse
import contextlib
import dataclasses
import importlib.util
import os
import statistics
import typing

import torch
import torch.distributed as dist

HIDDEN = 4096
BATCHES = (256, 128, 64, 32, 8, 1)
LAYERS = 8
MOST_FUSED = 2048  # tokens
NORM = 1  # flashinfer.comm.AllReduceFusionPattern.kARResidualRMSNorm
EPSILON = 1e-6
ULP = 2.0 ** -7  # of bfloat16, relative


@dataclasses.dataclass
class Engine:
    group: typing.Any  # its GroupCoordinator
    owner: typing.Any  # what has our communicator as ca_comm
    capture: typing.Callable  # a context: around the capture of graphs
    theirs: typing.Callable  # the class that ours stands in for
    fused: typing.Callable  # (message, residual, weight): the norm and the residual behind the sum
    destroy: typing.Callable


def vllm_fused(size):
    """What vLLM's compilation puts for an all-reduce with a norm behind it: it writes over its arguments."""
    def fused(tensor, residual, weight):
        from vllm.compilation.passes.fusion.allreduce_rms_fusion import call_trtllm_fused_allreduce_norm as call
        call(allreduce_in=tensor, residual=residual, rms_gamma=weight, rms_eps=EPSILON, world_size=size,
             launch_with_pdl=True, fp32_acc=True, max_token_num=MOST_FUSED, pattern_code=NORM)
        return tensor, residual
    return fused


def sglang_fused(tensor, residual, weight):
    """What SGLang's layers call with --enable-flashinfer-allreduce-fusion."""
    from sglang.srt.layers.flashinfer_comm_fusion import flashinfer_allreduce_residual_rmsnorm as call
    return call(tensor, residual, weight, EPSILON, MOST_FUSED)


def vllm_engine(rank, size):
    os.environ["VLLM_PLUGINS"] = "assay_allreduce"
    os.environ["VLLM_ALLREDUCE_USE_SYMM_MEM"] = "0"
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.distributed import parallel_state as state
    from vllm.distributed.device_communicators.custom_all_reduce import CustomAllreduce as theirs
    from vllm.plugins import load_general_plugins

    load_general_plugins()
    with set_current_vllm_config(VllmConfig()):
        state.init_distributed_environment(size, rank, "env://", rank, "nccl")
        state.initialize_model_parallel(tensor_model_parallel_size=size)
    group = state.get_tp_group()
    return Engine(group, group.device_communicator,
                  lambda: state.graph_capture(device=torch.device("cuda", rank)), theirs, vllm_fused(size),
                  lambda: (state.destroy_model_parallel(), state.destroy_distributed_environment()))


def sglang_engine(rank, size):
    import assay_allreduce.sglang
    from sglang.srt.distributed import parallel_state as state
    from sglang.srt.distributed.device_communicators.custom_all_reduce import dispatch_custom_allreduce

    theirs = dispatch_custom_allreduce()
    assay_allreduce.sglang.install()
    state.init_distributed_environment(size, rank, "env://", rank, "nccl")
    state.set_custom_all_reduce(True)
    state.initialize_model_parallel(tensor_model_parallel_size=size)
    group = state.get_tp_group()
    return Engine(group, group, state.graph_capture, theirs, sglang_fused,
                  lambda: (state.destroy_model_parallel(), state.destroy_distributed_environment()))


def message(tokens):
    return torch.randn(tokens, HIDDEN, dtype=torch.bfloat16, device="cuda")


def check(what, result, exact, limit):
    error = ((result.double() - exact).abs().max() / exact.abs().max()).item()
    if not error <= limit:
        raise AssertionError(f"{what}: off by {error:.2g} of the largest, {limit:.2g} is the most")
    return f"{what}: right"


def exact_sum(tensor, group):
    exact = tensor.double()
    dist.all_reduce(exact, group=group)
    return exact


@contextlib.contextmanager
def counted(communicator):
    """Counts the calls that reach our communicator."""
    calls = []
    own = communicator._comm.all_reduce
    communicator._comm.all_reduce = lambda *arguments: (calls.append(1), own(*arguments))[1]
    try:
        yield calls
    finally:
        communicator._comm.all_reduce = own


def check_calls(engine, calls, all_reduce, how):
    """Our communicator has the messages that it says it takes, the engine's the others."""
    for tokens in (1, 7, 64, 512, 1000, 4096):
        tensor = message(tokens)
        exact = exact_sum(tensor, engine.group.device_group)
        before = len(calls)
        taken = engine.owner.ca_comm.should_custom_ar(tensor)
        said = check(f"{how}, {tokens} tokens", all_reduce(tensor), exact, ULP)
        assert (len(calls) > before) == taken, f"{how}, {tokens} tokens: not by whom it should be"
        yield f"{said}, by {'assay' if taken else 'the engine'}"


def check_graphs(engine, all_reduce):
    """Graphs as a decode runner captures them: the largest batch first, in one pool, with prompts
    between their replays."""
    weight = torch.randn(HIDDEN, HIDDEN, dtype=torch.bfloat16, device="cuda") / HIDDEN ** 0.5
    dist.broadcast(weight, 0, group=engine.group.device_group)

    def model(tensor, reduce):
        for _ in range(LAYERS):
            tensor = reduce(tensor @ weight) / engine.group.world_size
        return tensor

    def by_engine(tensor):
        dist.all_reduce(tensor, group=engine.group.device_group)
        return tensor

    graphs, inputs, outputs, pool = {}, {}, {}, None
    with engine.capture() as context:
        for batch in BATCHES:
            inputs[batch] = message(batch)
            model(inputs[batch], all_reduce)
            torch.cuda.synchronize()
            graphs[batch] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graphs[batch], pool=pool, stream=context.stream):
                outputs[batch] = model(inputs[batch], all_reduce)
            pool = pool or graphs[batch].pool()
    for turn in range(3):
        for batch, graph in graphs.items():
            inputs[batch].copy_(message(batch))
            graph.replay()
            exact = model(inputs[batch].clone(), by_engine).double()
            said = check(f"graph of {batch}", outputs[batch], exact, LAYERS * ULP)
            all_reduce(message(300))
            if turn == 2:
                yield said


def captured(engine, all_reduce, tensor, calls):
    with engine.capture() as context:
        all_reduce(tensor)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=context.stream):
            for _ in range(calls):
                all_reduce(tensor)
    return graph


def replay_us(engine, graph):
    dist.barrier(group=engine.group.device_group)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000


def times_us(engine, all_reduce, communicators, tokens, calls=200, replays=21):
    """Of one call in a graph of many with each communicator: the median replay, on the slowest rank. The
    graphs are replayed in turns."""
    tensor, graphs, times = message(tokens), [], [[] for _ in communicators]
    exact = exact_sum(tensor, engine.group.device_group)
    inputs = [tensor.clone() for _ in communicators]  # some sum in place
    for communicator, own_input in zip(communicators, inputs):
        engine.owner.ca_comm = communicator
        check(f"{tokens} tokens, {type(communicator).__name__}", all_reduce(tensor.clone()), exact, ULP)
        graphs.append(captured(engine, all_reduce, own_input, calls))
    for _ in range(replays):
        for graph, own_times in zip(graphs, times):
            own_times.append(replay_us(engine, graph) / calls)
    slowest = torch.tensor([statistics.median(own_times) for own_times in times], device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX, group=engine.group.device_group)
    return slowest.tolist()


def engines_own(engine, device):
    """An object of the class that the engine would use without us, or None where it has no kernels here."""
    try:
        own = engine.theirs(engine.group.cpu_group, device)
    except Exception as error:  # what is raised without them is the engine's affair
        print(f"the engine's own class cannot be made: {error}", flush=True)
        return None
    return None if own.disabled else own


def compare_times(engine, all_reduce, device):
    ours, own = engine.owner.ca_comm, engines_own(engine, device)
    ways = {"assay": ours, **({f"the engine's own {type(own).__name__}": own} if own else {}), "NCCL": None}
    for tokens in (1, 16, 64, 128, 256, 512, 1024):
        times = times_us(engine, all_reduce, ways.values(), tokens)
        told = ", ".join(f"{time:.2f} us with {way}" for way, time in zip(ways, times))
        yield f"{tokens} x {HIDDEN} bf16: {told}"
    engine.owner.ca_comm = ours


def norm_of(hidden, weight):
    return torch.nn.functional.rms_norm(hidden, hidden.shape[-1:], weight, EPSILON)


def fused_inputs(engine, tokens):
    residual, weight = message(tokens), torch.randn(HIDDEN, dtype=torch.bfloat16, device="cuda")
    for tensor in (residual, weight):
        dist.broadcast(tensor, 0, group=engine.group.device_group)
    return message(tokens), residual, weight


def check_fused(engine):
    """The engine's fused call, call by call and in graphs, all of them by ours."""
    from assay_allreduce import flashinfer
    run, calls = flashinfer.Workspace.run, []
    flashinfer.Workspace.run = lambda *arguments: (calls.append(1), run(*arguments))[1]
    for tokens in (1, 7, 64, 512, MOST_FUSED):
        tensor, residual, weight = fused_inputs(engine, tokens)
        exact = exact_sum(tensor, engine.group.device_group) + residual.double()
        norm, hidden = engine.fused(tensor.clone(), residual.clone(), weight)
        check(f"residual of {tokens}", hidden, exact, 2 * ULP)
        check(f"norm of {tokens}", norm, norm_of(hidden.double(), weight.double()), ULP)
        assert calls.pop() == 1 and not calls, "not by ours"
        given = tensor.clone(), residual.clone()
        with engine.capture() as context:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=context.stream):
                norm, hidden = engine.fused(*given, weight)
        calls.clear()
        for _ in range(3):
            for own, start in zip(given, (tensor, residual)):
                own.copy_(start)
            graph.replay()
        check(f"residual of {tokens} by a graph", hidden, exact, 2 * ULP)
        yield check(f"fused, {tokens} tokens, by assay", norm, norm_of(hidden.double(), weight.double()), ULP)
    flashinfer.Workspace.run = run


def check_vllms_pass(engine):
    """vLLM's compilation finds the all-reduce with the norm behind it, and ours runs what it puts there."""
    from torch._inductor.pattern_matcher import PatternMatcherPass
    import vllm.ir
    from vllm.compilation.passes.fusion import allreduce_rms_fusion as fusion
    from vllm.compilation.passes.inductor_pass import enable_fake_mode
    from vllm.distributed import tensor_model_parallel_all_reduce

    from assay_allreduce import flashinfer
    patterns = PatternMatcherPass(pass_name="all_reduce_fusion_pass")
    pattern = fusion.AllReduceFusedAddRMSNormPattern(
        EPSILON, torch.bfloat16, "cuda",
        fusion.FlashInferFusedAllReduceParams(engine.group.world_size, max_token_num=MOST_FUSED))
    enable_fake_mode(lambda: pattern.register(patterns))()
    matches, calls, run = [], [], flashinfer.Workspace.run
    flashinfer.Workspace.run = lambda *arguments: (calls.append(1), run(*arguments))[1]

    def layer(tensor, residual, weight):
        return vllm.ir.ops.fused_add_rms_norm(tensor_model_parallel_all_reduce(tensor * 1), residual, weight, EPSILON)

    with torch._inductor.config.patch(post_grad_custom_post_pass=lambda graph: matches.append(patterns.apply(graph)),
                                      force_disable_caches=True):
        for tokens in (3, 64):
            tensor, residual, weight = fused_inputs(engine, tokens)
            exact = exact_sum(tensor, engine.group.device_group) + residual.double()
            norm, hidden = torch.compile(layer, fullgraph=True, dynamic=False)(tensor, residual.clone(), weight)
            check(f"residual of {tokens}, compiled by vLLM's pass", hidden, exact, 2 * ULP)
            yield check(f"norm of {tokens}, compiled by vLLM's pass, by assay", norm,
                        norm_of(hidden.double(), weight.double()), ULP)
    assert matches == [1, 1] and len(calls) == 2, f"{matches} matches, {len(calls)} calls of ours"
    flashinfer.Workspace.run = run


def compare_fused_times(engine, calls=200, replays=21):
    """Of the engine's fused call, and of its sum with PyTorch's norm behind it."""
    def apart(tensor, residual, weight):
        return norm_of(engine.group.all_reduce(tensor) + residual, weight)

    for tokens in (1, 16, 64, 128, 256, 512, 1024):
        graphs, given, times = [], [], [[], []]
        for way in (engine.fused, apart):
            given.append(fused_inputs(engine, tokens))  # graphs do not keep them alive
            with engine.capture() as context:
                way(*given[-1])
                torch.cuda.synchronize()
                graphs.append(torch.cuda.CUDAGraph())
                with torch.cuda.graph(graphs[-1], stream=context.stream):
                    for _ in range(calls):
                        way(*given[-1])
        for _ in range(replays):
            for graph, own_times in zip(graphs, times):
                own_times.append(replay_us(engine, graph) / calls)
        slowest = torch.tensor([statistics.median(each) for each in times], device="cuda")
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX, group=engine.group.device_group)
        fused, unfused = slowest.tolist()
        yield f"{tokens} x {HIDDEN} bf16: {fused:.2f} us fused, {unfused:.2f} with an addition and a norm behind the sum"


def check_disabled(engine):
    own = engine.owner.ca_comm
    assert type(own) is engine.theirs and not own.disabled, f"{type(own)}, disabled: {own.disabled}"
    for tokens in (1, 64, 512):
        tensor = message(tokens)
        exact = exact_sum(tensor, engine.group.device_group)
        assert own.should_custom_ar(tensor)
        yield check(f"by the engine's own {type(own).__name__}, {tokens} tokens", engine.group.all_reduce(tensor),
                    exact, ULP)


def check_ours(engine, device):
    communicator = engine.owner.ca_comm
    assert type(communicator).__module__ == "assay_allreduce.custom_all_reduce", type(communicator)
    assert not communicator.disabled, "the log says why"
    all_reduce = engine.group.all_reduce
    with counted(communicator) as calls:
        yield from check_calls(engine, calls, all_reduce, "call by call")
        yield from check_graphs(engine, all_reduce)
        compiled = torch.compile(lambda tensor: all_reduce(tensor * 1), fullgraph=True)
        yield from check_calls(engine, calls, compiled, "compiled")
    yield from compare_times(engine, all_reduce, device)
    if importlib.util.find_spec("flashinfer") is not None:
        yield from check_fused(engine)
        if engine.theirs.__module__.startswith("vllm."):
            yield from check_vllms_pass(engine)
        yield from compare_fused_times(engine)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=("vllm", "sglang"))
    parser.add_argument("--disable", action="store_true",
                        help="see that the engine takes its own class where ours cannot be used; "
                             "it needs the kernels that the engine compiles")
    wanted = parser.parse_args()
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank)
    torch.manual_seed(rank)
    if wanted.disable:
        os.environ["ASSAY_ALLREDUCE_MAX_SIZE"] = f"{16 + rank}M"  # unequal, which disables it on all ranks
    engine = {"vllm": vllm_engine, "sglang": sglang_engine}[wanted.engine](rank, size)

    def say(lines):
        for line in lines:
            if rank == 0:
                print(line, flush=True)

    say(check_disabled(engine) if wanted.disable else check_ours(engine, torch.device("cuda", rank)))
    engine.destroy()
    say([f"{wanted.engine}: all right on {size} GPUs"])


if __name__ == "__main__":
    main()
