#!/usr/bin/env python3
"""One rank of torch_gpu_test.py: python/assay_allreduce on GPUs, against sums in float64. Run by
torchrun. Every rank makes the same checks in the same order, from its own random numbers. Ranks
that share GPUs take turns on them, and gloo takes NCCL's place."""
import gc
import os
import pathlib
import random
import sys
import tempfile
import traceback

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial
from torch.profiler import ProfilerActivity, profile

import assay_allreduce
from assay_allreduce import distributed, flashinfer
from assay_allreduce import Communicator, ScaleLayout, Strategy
from assay_allreduce.communicator import StoreExchange
from assay_allreduce.custom_all_reduce import CustomAllreduce

OPS = torch.ops.assay
OWN = (Strategy.ONESHOT, Strategy.TWOSHOT_PUSH, Strategy.TWOSHOT)
EPSILON = 1e-5
# A unit in the last place, relative: a sum is rounded once, a norm behind it twice.
ULP = {torch.bfloat16: 2.0 ** -7, torch.float16: 2.0 ** -10, torch.float32: 2.0 ** -22}


def message(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


def same_on_all_ranks(*shape, dtype=torch.bfloat16):
    tensor = message(*shape, dtype=dtype)
    dist.broadcast(tensor, 0)
    return tensor


def exact_sum(tensor, group=None):
    exact = tensor.double()
    dist.all_reduce(exact, group=group)
    return exact


def close(tensor, exact, units=1.0, absolute=1e-6):
    """Within so many units of the last place of the tensor's type, or an absolute error."""
    limit = exact.abs() * ULP[tensor.dtype] * units + absolute
    error = (tensor.double() - exact).abs()
    assert bool((error <= limit).all()), (
        f"off by {error.max().item():.3g} where {limit.flatten()[error.argmax()].item():.3g} is the most")


def exact_norm(hidden, gamma, weight_bias=0.0):
    root = (hidden.double().square().mean(-1, keepdim=True) + EPSILON).sqrt()
    return hidden.double() / root * (gamma.double() + weight_bias)


def check_sums(comm):
    own = [comm.with_strategy(strategy) for strategy in OWN]
    for dtype in ULP:
        for shape in ((8,), (1, 64), (3, 5, 7168), (257, 2048), (3, 1000), (64, 3)):
            source = message(*shape, dtype=dtype)
            exact, terms = exact_sum(source), exact_sum(source.abs())
            for strategy_comm in own:
                close(strategy_comm.all_reduce(source), exact, absolute=terms * 2.0 ** -21)
            # NCCL, which AUTO may take, rounds partial sums.
            absolute = terms * ULP[dtype] * comm.size()
            close(comm.all_reduce(source), exact, absolute=absolute)
            target = torch.empty_like(source)
            assert comm.all_reduce(source, target) is target
            close(target, exact, absolute=absolute)
            in_place = source.clone()
            assert comm.all_reduce(in_place, in_place) is in_place
            close(in_place, exact, absolute=absolute)
    large = message(1 << 14, 4096)
    close(comm.all_reduce(large), exact_sum(large), absolute=exact_sum(large.abs()) * 2.0 ** -6)
    assert comm.all_reduce(message(0, 64)).shape == (0, 64)


def check_hidden(hidden, source, start):
    """What the norm is of. Rounding the sum, then what is added to it, is off by as much as the terms are
    large, not what is left of them."""
    exact = exact_sum(source) + start.double()
    terms = exact_sum(source.abs()) + start.double().abs()
    limit = terms * ULP[source.dtype] * (dist.get_world_size() + 1)
    assert bool(((hidden.double() - exact).abs() <= limit).all())


def check_norm(comm, weight_bias=0.0):
    for dtype in (torch.bfloat16, torch.float16):
        for shape in ((1, 8192), (5, 2880), (130, 4096), (2, 3, 1024), (4096, 4096)):
            source, gamma = message(*shape, dtype=dtype), same_on_all_ranks(shape[-1], dtype=dtype)
            start = same_on_all_ranks(*shape, dtype=dtype)
            residual = start.clone()
            normed = comm.all_reduce_rms_norm(source, residual, gamma, EPSILON, weight_bias)
            check_hidden(residual, source, start)
            close(normed, exact_norm(residual, gamma, weight_bias), units=2, absolute=1e-3)


def check_norm_without_residual(comm):
    source, gamma = message(9, 4096), same_on_all_ranks(4096)
    normed = comm.all_reduce_rms_norm(source, None, gamma, EPSILON, 1.0)
    close(normed, exact_norm(exact_sum(source).bfloat16(), gamma, 1.0), units=4, absolute=2e-2)


def check_fp8(comm):
    for shape in ((1, 8192), (130, 4096), (4096, 8192)):
        source, gamma = message(*shape), same_on_all_ranks(shape[-1])
        residual = same_on_all_ranks(*shape)
        scale = torch.tensor([0.05], device="cuda")
        quantized = comm.all_reduce_rms_norm_quant_fp8(source, residual, gamma, scale, EPSILON)
        assert quantized.dtype == torch.float8_e4m3fn and quantized.shape == source.shape
        exact = exact_norm(residual, gamma).clamp(-448 * 0.05, 448 * 0.05)
        error = (quantized.double() * 0.05 - exact).abs()
        assert bool((error <= exact.abs() / 14 + 0.05 * 2.0 ** -9).all()), error.max()


def check_fp8_dynamic(comm):
    for group_size in (0, 128):
        source, gamma = message(33, 4096), same_on_all_ranks(4096)
        residual = same_on_all_ranks(33, 4096)
        quantized, scales = comm.all_reduce_rms_norm_quant_fp8(
            source, residual, gamma, None, EPSILON, group_size=group_size)
        exact = exact_norm(residual, gamma)
        groups = exact.unflatten(-1, (scales.shape[-1], -1))
        expected = groups.abs().amax(-1) / 448
        assert bool(((scales.double() - expected).abs() <= expected / 64).all())
        read = quantized.double().unflatten(-1, (scales.shape[-1], -1)) * scales.double()[..., None]
        assert bool(((read - groups).abs() <= groups.abs() / 14 + expected[..., None] / 400).all())


def e2m1(packed):
    """The values of two elements a byte."""
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], device="cuda", dtype=torch.float64)
    halves = torch.stack((packed & 15, packed >> 4), -1).flatten(-2).long()
    return torch.where(halves >= 8, -1.0, 1.0) * table[halves & 7]


def unblocked(scales, tokens, groups, rows_of_block):
    """Scales in blocks of rows by 4, in their order in memory, as [tokens, groups]."""
    rows, columns = scales.shape
    flat = scales.view(torch.uint8).flatten().tolist()
    order = []
    for row in range(tokens):
        for group in range(groups):
            block = (row // rows_of_block * (columns // 4) + group // 4) * rows_of_block * 4
            inside = row % rows_of_block
            place = (inside % 32 * 16 + inside // 32 * 4 if rows_of_block == 128 else inside * 4)
            order.append(flat[block + place + group % 4])
    assert rows % rows_of_block == 0
    return torch.tensor(order, device="cuda", dtype=torch.uint8).view(torch.float8_e4m3fn).view(
        tokens, groups)


def check_nvfp4(comm, layouts=(ScaleLayout.BLOCKS_128X4,)):
    for layout in layouts:
        for tokens, hidden in ((3, 256), (130, 320)):
            source, gamma = message(tokens, hidden), same_on_all_ranks(hidden)
            residual = same_on_all_ranks(tokens, hidden)
            scale = torch.tensor([32.0], device="cuda")
            packed, scales = comm.all_reduce_rms_norm_quant_nvfp4(
                source, residual, gamma, scale, EPSILON, scale_layout=layout)
            assert packed.shape == (tokens, hidden // 2)
            if layout != ScaleLayout.LINEAR:
                scales = unblocked(scales, tokens, hidden // 16,
                                   128 if layout == ScaleLayout.BLOCKS_128X4 else 8)
            exact = exact_norm(residual, gamma).unflatten(-1, (-1, 16))
            read = e2m1(packed).unflatten(-1, (-1, 16)) * scales.double()[..., None] / 32
            # Half of the widest step, 4 to 6, of the largest, and what the scale was rounded by.
            limit = exact.abs().amax(-1, keepdim=True) * (1 / 6 + 1 / 12) + 1e-3
            assert bool(((read - exact).abs() <= limit).all()), (read - exact).abs().max()


def check_fused_in_place(workspace, tokens, hidden, dtype):
    """Where vLLM and SGLang have norm and residual written: over the message and the residual, over the
    message and apart, apart."""
    gamma, start = same_on_all_ranks(hidden, dtype=dtype), same_on_all_ranks(tokens, hidden, dtype=dtype)
    original = message(tokens, hidden, dtype=dtype)
    for norm_in_place, residual_out in ((True, "residual"), (False, "message"), (False, "new")):
        source, residual = original.clone(), start.clone()
        places = {"residual": residual, "message": source, "new": torch.empty_like(source)}
        norm_out = source if norm_in_place else torch.empty_like(source)
        result = workspace.run(source, 1, {
            "norm_out": norm_out, "residual_in": residual, "residual_out": places[residual_out],
            "rms_gamma": gamma, "rms_eps": EPSILON})
        assert result is norm_out
        check_hidden(places[residual_out], original, start)
        close(norm_out, exact_norm(places[residual_out], gamma), units=2, absolute=1e-3)


def check_fused_fp8(workspace, tokens, hidden, pattern):
    source, gamma = message(tokens, hidden), same_on_all_ranks(hidden)
    start, original = same_on_all_ranks(tokens, hidden), source.clone()
    quantized = torch.empty(tokens, hidden, dtype=torch.float8_e4m3fn, device="cuda")
    scales = torch.empty(tokens, 1, device="cuda")
    scale = torch.tensor([0.05], device="cuda")
    norm_out = torch.empty_like(source) if pattern in (4, 11) else None
    workspace.run(source, pattern, {
        "quant_out": quantized, "norm_out": norm_out, "residual_in": start, "residual_out": source,
        "rms_gamma": gamma, "rms_eps": EPSILON, "scale_factor": scale, "scale_out": scales})
    check_hidden(source, original, start)
    exact = exact_norm(source, gamma)
    if norm_out is not None:
        close(norm_out, exact, units=2, absolute=1e-3)
    of_rows = scales.double() if pattern >= 10 else 0.05
    read = quantized.double() * of_rows
    limit = 448 * of_rows
    assert bool(((read - exact.clamp(-limit, limit)).abs() <= exact.abs() / 14 + limit / 2 ** 17 + 1e-4).all())


def check_fused_nvfp4(workspace, layout):
    tokens, hidden, groups, columns = 130, 336, 21, 24  # the last three columns pad the blocks
    source, gamma = message(tokens, hidden), same_on_all_ranks(hidden)
    residual = same_on_all_ranks(tokens, hidden)
    packed = torch.empty(tokens, hidden // 2, dtype=torch.uint8, device="cuda")
    scales = torch.full((256 if layout == 0 else 136, columns), 255, dtype=torch.uint8, device="cuda")
    workspace.run(source, 3, {
        "quant_out": packed, "scale_out": scales, "residual_in": residual, "residual_out": residual,
        "rms_gamma": gamma, "rms_eps": EPSILON, "scale_factor": torch.tensor([32.0], device="cuda"),
        "layout_code": layout})
    scales = unblocked(scales, tokens, columns, 128 if layout == 0 else 8)
    assert not scales[:, groups:].float().any()
    scales = scales[:, :groups]
    exact = exact_norm(residual, gamma).unflatten(-1, (-1, 16))
    read = e2m1(packed).unflatten(-1, (-1, 16)) * scales.double()[..., None] / 32
    assert bool(((read - exact).abs() <= exact.abs().amax(-1, keepdim=True) * (1 / 6 + 1 / 12) + 1e-3).all())


def check_flashinfer(comm):
    """What engines call of flashinfer.comm, by every strategy; TWOSHOT and NCCL need a place for the sum."""
    workspace = flashinfer.Workspace(None, None, 64 << 20, "trtllm", None)
    assert not workspace.disabled
    connected = workspace._comm
    ways = [connected.with_strategy(strategy) for strategy in (Strategy.AUTO, *OWN)]
    if comm.nccl_version() > 0:
        ways.append(comm.with_strategy(Strategy.NCCL))
    for way in ways:
        workspace._comm = way
        for dtype in (torch.bfloat16, torch.float16):
            for tokens, hidden in ((1, 8192), (7, 2880), (130, 4096), (600, 512), (6000, 4096)):
                check_fused_in_place(workspace, tokens, hidden, dtype)
        for pattern in (2, 4, 10, 11):
            for tokens, hidden in ((1, 8192), (130, 4096)):
                check_fused_fp8(workspace, tokens, hidden, pattern)
        if way.strategy not in (Strategy.TWOSHOT, Strategy.NCCL):
            for layout in (0, 1):
                check_fused_nvfp4(workspace, layout)
        source = message(64, 4096)
        close(workspace.run(source, 0, {}), exact_sum(source), absolute=exact_sum(source.abs()) * 2 ** -6)
    workspace._comm = connected
    dist.barrier()
    workspace.destroy()


def check_split(comm):
    for shape in ((4 * comm.size(), 1024), (12 * comm.size(), 3, 72)):
        source = message(*shape)
        exact = exact_sum(source).chunk(comm.size())[comm.rank()]
        close(comm.reduce_scatter(source), exact)
        gathered = [torch.empty_like(source) for _ in range(comm.size())]
        dist.all_gather(gathered, source)
        assert torch.equal(comm.all_gather(source), torch.cat(gathered))
        part, whole = torch.empty_like(exact, dtype=source.dtype), torch.cat(gathered).zero_()
        close(comm.reduce_scatter(source, part), exact)
        assert torch.equal(comm.all_gather(source, whole), torch.cat(gathered))
        close(comm.reduce_scatter(source.flatten(), part.zero_().flatten()), exact.flatten())
        try:
            comm.reduce_scatter(source, source.chunk(comm.size())[0])
        except RuntimeError as error:
            assert "share memory" in str(error), error
        else:
            raise AssertionError("an output within the input is taken")


def check_errors(comm):
    def refused(reason, function):
        try:
            function()
        except RuntimeError as error:
            assert reason in str(error), f"'{reason}' is not in '{error}'"
        else:
            raise AssertionError(f"not refused: {reason}")

    refused("not contiguous", lambda: comm.all_reduce(message(16, 64).t()))
    refused("bfloat16, float16 or float32", lambda: comm.all_reduce(
        torch.zeros(8, device="cuda", dtype=torch.int32)))
    refused("no multiple of 8", lambda: comm.all_reduce(message(7)))
    refused("not aligned to 16 bytes", lambda: comm.all_reduce(message(17)[1:]))
    rows = message(9, 64)
    refused("share no memory", lambda: comm.all_reduce(rows[:-1], rows[1:]))
    refused("gamma must have", lambda: comm.all_reduce_rms_norm(
        message(2, 64), message(2, 64), message(32)))
    refused("no communicator has number 4000", lambda: OPS.all_reduce(message(8), 4000))
    refused("CPU", lambda: comm.all_reduce(torch.zeros(8, dtype=torch.bfloat16)))
    with tempfile.TemporaryDirectory() as folder:
        wrong = pathlib.Path(folder) / "table.json"
        wrong.write_text("{", encoding="ascii")
        refused("table.json", lambda: Communicator(table=wrong))
    refused("", lambda: Communicator(workspace_bytes=(1 << 40) if dist.get_rank() == 0 else 0))


def check_opcheck(comm):
    """PyTorch's own tests of an operator: its mutation marks and its shapes in tracing."""
    tests = ("test_schema", "test_faketensor")
    gamma = same_on_all_ranks(256)
    for operator, arguments in (
            (OPS.all_reduce, (message(3, 64), comm.number)),
            (OPS.all_reduce_, (message(3, 64), comm.number)),
            (OPS.all_reduce_out, (message(3, 64), message(3, 64), comm.number)),
            (OPS.reduce_scatter_out,
             (message(comm.size(), 64), message(1, 64), comm.number)),
            (OPS.all_gather_out, (message(1, 64), message(comm.size(), 64), comm.number)),
            (OPS.all_reduce_rms_norm, (message(3, 256), message(3, 256), gamma, 1e-5, comm.number)),
            (OPS.all_reduce_rms_norm_quant_fp8,
             (message(3, 256), message(3, 256), gamma, torch.ones(1, device="cuda"), 1e-5,
              comm.number)),
            (OPS.all_reduce_rms_norm_quant_nvfp4,
             (message(3, 256), message(3, 256), gamma, torch.ones(1, device="cuda"), 1e-5,
              comm.number))):
        torch.library.opcheck(operator.default, arguments, test_utils=tests)


class Block(torch.nn.Module):
    """A matrix product whose sum over the ranks is normed behind a residual, and one summed in
    place."""

    def __init__(self, comm):
        super().__init__()
        self.number = comm.number
        self.register_buffer("weight", message(512, 512) / 16)
        self.register_buffer("gamma", same_on_all_ranks(512))

    def forward(self, activation, residual):
        residual = residual * 1
        partial = activation @ self.weight
        normed = OPS.all_reduce_rms_norm(partial, residual, self.gamma, EPSILON, self.number)
        second = normed @ self.weight + 1
        OPS.all_reduce_(second, self.number)
        return second * 2, residual, OPS.all_reduce(residual, self.number)


def check_compile(comm):
    block = Block(comm).cuda()
    compiled = torch.compile(block, fullgraph=True, dynamic=True)
    for tokens in (4, 7, 64):
        activation, residual = message(tokens, 512), same_on_all_ranks(tokens, 512)
        before = residual.clone()
        for expected, got in zip(block(activation, residual), compiled(activation, residual)):
            torch.testing.assert_close(got, expected, rtol=0.05, atol=0.5)
        assert torch.equal(residual, before), "the module does not change its argument"


def check_compile_with_graphs(comm):
    """PyTorch's own graphs around compiled code."""
    weight = message(512, 512) / 16

    @torch.compile(mode="reduce-overhead")
    def step(activation):
        return OPS.all_reduce(activation @ weight, comm.number) * 2

    for _ in range(5):
        activation = message(8, 512)
        expected = comm.all_reduce(activation @ weight) * 2
        torch.testing.assert_close(step(activation), expected, rtol=0.05, atol=0.5)


def check_compiled_mutation(comm):
    gamma = same_on_all_ranks(512)

    @torch.compile(fullgraph=True)
    def step(partial, residual):
        return comm.all_reduce_rms_norm(partial, residual, gamma, EPSILON)

    partial, start = message(5, 512), same_on_all_ranks(5, 512)
    eager_residual, residual = start.clone(), start.clone()
    expected = comm.all_reduce_rms_norm(partial, eager_residual, gamma, EPSILON)
    assert torch.equal(step(partial, residual), expected)
    assert torch.equal(residual, eager_residual) and not torch.equal(residual, start)


def check_export(comm):
    block = Block(comm).cuda()
    activation, residual = message(6, 512), same_on_all_ranks(6, 512)
    exported = torch.export.export(block, (activation, residual))
    assert "assay.all_reduce_rms_norm" in str(exported.graph)
    for expected, got in zip(block(activation, residual), exported.module()(activation, residual)):
        torch.testing.assert_close(got, expected, rtol=0.05, atol=0.5)


def check_graph(comm):
    source, gamma = message(16, 4096), same_on_all_ranks(4096)
    residual = same_on_all_ranks(16, 4096)
    comm.all_reduce(source)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        summed = comm.all_reduce(source)
        normed = comm.all_reduce_rms_norm(summed, residual, gamma, EPSILON)
    for _ in range(3):
        source.copy_(message(16, 4096))
        residual.copy_(same_on_all_ranks(16, 4096))
        eager_residual = residual.clone()
        graph.replay()
        expected = comm.all_reduce(source)
        assert torch.equal(summed, expected)
        assert torch.equal(normed, comm.all_reduce_rms_norm(expected, eager_residual, gamma, EPSILON))
        assert torch.equal(residual, eager_residual)


def check_store():
    """Connected by a store alone, and closed."""
    store = dist.distributed_c10d._get_default_store()
    comm = Communicator(exchange=StoreExchange(store, dist.get_rank(), dist.get_world_size(), "one"),
                        use_nccl=False)
    source = message(4, 64)
    close(comm.all_reduce(source), exact_sum(source))
    comm.close()
    try:
        comm.all_reduce(source)
    except RuntimeError as error:
        assert "no communicator" in str(error)
    else:
        raise AssertionError("a closed communicator sums")


def check_reserve():
    """A graph that was captured before reserving sums as well as calls after it."""
    comm = Communicator(use_nccl=False)
    source = message(64, 4096)
    comm.all_reduce(source)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = comm.all_reduce(source)
    comm.reserve(32 << 20)
    for shape in ((64, 4096), (2048, 8192)):
        later = message(*shape)
        close(comm.with_strategy(Strategy.TWOSHOT_PUSH).all_reduce(later), exact_sum(later),
              absolute=exact_sum(later.abs()) * 2.0 ** -21)
        graph.replay()
        close(captured, exact_sum(source), absolute=exact_sum(source.abs()) * 2.0 ** -21)
    torch.cuda.synchronize()
    comm.close()


def check_deterministic():
    """A row's sum is the same to the bit in every batch."""
    comm = Communicator(deterministic=True)
    source = message(4096, 4096)
    summed = comm.all_reduce(source)
    for rows in (1, 7, 300):
        assert torch.equal(comm.all_reduce(source[:rows]), summed[:rows])
    torch.cuda.synchronize()
    comm.close()


def check_deadline():
    """Rank 0 does not come."""
    comm = Communicator(deadline_seconds=1.0, use_nccl=False)
    if comm.rank() != 0:
        comm.all_reduce(message(8, 64))
        torch.cuda.synchronize()
        try:
            comm.check()
        except assay_allreduce.AllReduceError as error:
            assert "rank 0" in str(error), error
        else:
            raise AssertionError("nobody missed rank 0")
    dist.barrier()
    comm.close()


class Engine:
    """What vLLM and SGLang do with their communicators: a group of all ranks and one of half of
    them, warm-up and capture of a graph for each batch size from the largest down in one memory pool,
    prefill without a graph between replays."""

    HIDDEN = 4096
    BATCHES = (64, 16, 3, 1)

    def __init__(self, adapters, groups):
        self.adapters, self.groups = adapters, groups
        self.graphs = {}
        self.pool = None

    def step(self, activation):
        """Two layers that sum over each group; the reference adds in float64."""
        for adapter, group in zip(self.adapters, self.groups):
            if adapter.should_custom_ar(activation):
                activation = adapter.custom_all_reduce(activation)
            else:
                activation = activation.clone()
                dist.all_reduce(activation, group=group)
            activation = activation / 2
        return activation

    def exact_step(self, activation):
        for group in self.groups:
            activation = exact_sum(activation.bfloat16(), group) / 2
        return activation

    def capture(self):
        with self.adapters[0].capture(), self.adapters[1].capture():
            for batch in self.BATCHES:
                activation = message(batch, self.HIDDEN)
                self.step(activation)
                torch.cuda.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, pool=self.pool):
                    result = self.step(activation)
                self.pool = self.pool or graph.pool()
                self.graphs[batch] = (graph, activation, result)

    def decode(self, batch):
        graph, activation, result = self.graphs[batch]
        activation.copy_(message(batch, self.HIDDEN))
        graph.replay()
        close(result, self.exact_step(activation), units=4, absolute=2e-2)

    def prefill(self, tokens):
        activation = message(tokens, self.HIDDEN)
        close(self.step(activation), self.exact_step(activation), units=4, absolute=2e-2)


def pairs():
    """Groups of two neighbours, or of all two: (for gloo, for NCCL), of this rank."""
    mine = None
    for first in range(0, dist.get_world_size(), 2):
        ranks = [first, first + 1]
        made = dist.new_group(ranks, backend="gloo"), dist.new_group(ranks)
        if dist.get_rank() in ranks:
            mine = made
    return mine


def check_engine():
    everyone = dist.new_group(backend="gloo")
    pair, pair_nccl = pairs()
    device = torch.cuda.current_device()
    adapters = [CustomAllreduce(everyone, device, max_size=32 << 20),
                CustomAllreduce(group=pair, device=f"cuda:{device}", max_size=1 << 20)]
    assert not any(adapter.disabled for adapter in adapters)
    assert not adapters[1].should_custom_ar(message(1 << 10, 4096)), "above max_size"
    assert not adapters[0].should_custom_ar(message(64, 64).t())
    assert adapters[0].custom_all_reduce(message(7)) is None
    between = message(8 * 4096 + 1)[1:]
    close(adapters[0].custom_all_reduce(between), exact_sum(between), absolute=1e-3)
    # A traced tensor has no address, and SGLang allows no graph break.
    takes = torch.compile(lambda tensor: tensor * 2 if adapters[0].should_custom_ar(tensor) else tensor,
                          fullgraph=True)
    assert torch.equal(takes(between), between * 2)
    engine = Engine(adapters, [None, pair_nccl])
    engine.capture()
    choose = random.Random(3)  # the same on all ranks
    for _ in range(40):
        if choose.random() < 0.25:
            engine.prefill(choose.choice((100, 1000, 2048)))
        else:
            engine.decode(choose.choice(engine.BATCHES))
    residual, gamma = same_on_all_ranks(4, 4096), same_on_all_ranks(4096)
    normed, added = adapters[0].fused_allreduce_rmsnorm(message(4, 4096), residual, gamma, EPSILON)
    close(normed, exact_norm(added, gamma), units=2, absolute=1e-3)
    torch.cuda.synchronize()
    for adapter in adapters:
        adapter.close()
        assert adapter.disabled and not adapter.should_custom_ar(message(8))


def free_bytes():
    """Of this rank's GPU, when all ranks have done what they did."""
    torch.cuda.synchronize()
    dist.barrier()
    free = torch.cuda.mem_get_info()[0]
    dist.barrier()
    return free


def check_dropped():
    """An engine that drops its adapter gets the memory back."""
    everyone = dist.new_group(backend="gloo")
    CustomAllreduce(everyone, torch.cuda.current_device()).close()
    before = free_bytes()
    adapter = CustomAllreduce(everyone, torch.cuda.current_device())
    source = message(64, 4096)
    close(adapter.custom_all_reduce(source), exact_sum(source), absolute=1e-3)
    assert free_bytes() <= before - (60 << 20), "it takes memory"
    del adapter
    gc.collect()
    torch.cuda.empty_cache()
    assert free_bytes() >= before, f"{before - free_bytes()} bytes are missing"


def check_max_size():
    """What the environment says, and what it says wrong on one rank."""
    everyone = dist.new_group(backend="gloo")
    os.environ["ASSAY_ALLREDUCE_MAX_SIZE"] = "16M"
    adapter = CustomAllreduce(everyone, torch.cuda.current_device())
    source = message(2048, 4096)
    close(adapter.custom_all_reduce(source), exact_sum(source), absolute=1e-3)
    assert adapter.custom_all_reduce(message(2049, 4096)) is None
    torch.cuda.synchronize()
    adapter.close()
    os.environ["ASSAY_ALLREDUCE_MAX_SIZE"] = "much" if dist.get_rank() == 1 else "16M"
    try:
        CustomAllreduce(everyone, torch.cuda.current_device())
    except assay_allreduce.AllReduceError as error:
        assert "rank 1" in str(error) and "MUCH" in str(error), error
    else:
        raise AssertionError("not refused")
    finally:
        del os.environ["ASSAY_ALLREDUCE_MAX_SIZE"]


def called(function):
    """What function() returns, and the names of all operators below it."""
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        result = function()
    return result, {event.name for event in profiled.events()}


def check_ways_to_sum(group):
    """Every way that PyTorch has to add the tensors of a group ends in ours."""
    def in_place(tensor):
        dist.all_reduce(tensor, group=group)
        return tensor

    def named(tensor):
        distributed.dist.distributed_c10d.all_reduce(tensor, op=dist.ReduceOp.SUM, group=group, async_op=False)
        return tensor

    mesh = DeviceMesh.from_group(group, "cuda")
    ways = {"in place": in_place, "by name": named,
            "functional": lambda tensor: functional.all_reduce(tensor, "sum", group) + 0,
            "DTensor": lambda tensor: DTensor.from_local(tensor, mesh, [Partial()]).full_tensor(),
            "compiled": torch.compile(in_place, fullgraph=True),
            "compiled, functional": torch.compile(
                lambda tensor: functional.all_reduce(tensor * 1, "sum", group) + 0, fullgraph=True)}
    for name, way in ways.items():
        for source in (message(16, 4096), message(1, 64, dtype=torch.float32), message(8 * 4096 + 1)[1:]):
            exact = exact_sum(source)
            way(source.clone())  # compiles
            result, operators = called(lambda: way(source.clone() if source.data_ptr() % 16 == 0 else source))
            close(result, exact, absolute=1e-3)
            ours = {each for each in operators if each.startswith("assay::all_reduce")}
            assert ours and "c10d::allreduce_" not in operators, (name, operators)


def check_what_pytorch_keeps(group, sums):
    """Calls that ours do not take give what PyTorch's give."""
    size = dist.get_world_size(group)
    ones = torch.ones(64, 64, device="cuda")

    def summed(tensor, **options):
        work = dist.all_reduce(tensor, group=group, **options)
        if work is not None:
            work.wait()
        return tensor

    assert not sums.takes(message(sums.max_size // 2 + 8))
    for tensor, expected, options in (
            (ones.clone(), ones, {"op": dist.ReduceOp.MAX}), (ones.long(), ones * size, {}),
            (ones.clone(), ones * size, {"async_op": True}), (ones[0, :7].clone(), ones[0, :7] * size, {}),
            (message(sums.max_size // 2 + 8).fill_(1), None, {})):
        result, operators = called(lambda: summed(tensor, **options))
        assert not any(name.startswith("assay::") for name in operators), (options, operators)
        assert torch.equal(result.float(), result.float().new_full(result.shape, size)
                           if expected is None else expected.float()), options
    other = torch.compile(lambda tensor: functional.all_reduce(tensor, "max", group) + 0, fullgraph=True)
    assert torch.equal(other(ones), ones)
    elsewhere, operators = called(lambda: (dist.all_reduce(ones), ones)[1])
    assert torch.equal(elsewhere, ones.new_full(ones.shape, size)) and "c10d::allreduce_" in operators


def check_streams(groups):
    """Calls from one stream after another, of one group after another, with nothing between them but what
    install() sees to."""
    streams = [torch.cuda.Stream() for _ in range(3)]
    sources = [message(64, 4096) for _ in range(60)]
    results = []
    torch.cuda.synchronize()
    for number, source in enumerate(sources):
        with torch.cuda.stream(streams[number % 3]):
            results.append(source.clone())
            dist.all_reduce(results[-1], group=groups[number % 2])
    torch.cuda.synchronize()
    for source, result in zip(sources, results):
        close(result, exact_sum(source), absolute=1e-3)


def check_distributed():
    """PyTorch's own calls, for a group that is not the one of all other checks."""
    group = dist.new_group()
    sums = distributed.install(group)
    assert not sums.disabled and distributed.install(group) is sums
    check_ways_to_sum(group)
    check_what_pytorch_keeps(group, sums)
    second = dist.new_group()
    distributed.install(second)
    check_streams((group, second))
    dist.destroy_process_group(second)
    step = torch.compile(lambda tensor: functional.all_reduce(tensor * 2, "sum", group) + 1,
                         mode="reduce-overhead", fullgraph=True)
    for _ in range(5):
        source = message(4, 4096)
        close(step(source).clone(), exact_sum(source) * 2 + 1, absolute=2e-2)
    torch.cuda.synchronize()
    sums.close()
    result, operators = called(lambda: functional.all_reduce(message(4, 4096), "sum", group) + 0)
    assert "c10d::allreduce_" in operators and not any(name.startswith("assay::") for name in operators)


def main():
    device = int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count()
    torch.cuda.set_device(device)
    if torch.cuda.device_count() < int(os.environ["WORLD_SIZE"]):
        dist.init_process_group("gloo")
    else:
        dist.init_process_group("nccl", device_id=torch.device("cuda", device))
    torch.manual_seed(100 + dist.get_rank())
    comm = Communicator()
    checks = {
        "sums": lambda: check_sums(comm),
        "norm": lambda: check_norm(comm),
        "norm, Gemma": lambda: check_norm(comm, 1.0),
        "norm without residual": lambda: check_norm_without_residual(comm),
        "fp8": lambda: check_fp8(comm),
        "fp8, dynamic": lambda: check_fp8_dynamic(comm),
        "nvfp4": lambda: check_nvfp4(comm),
        "nvfp4, other scale layouts": lambda: check_nvfp4(
            comm, (ScaleLayout.LINEAR, ScaleLayout.BLOCKS_8X4)),
        "reduce_scatter, all_gather": lambda: check_split(comm),
        "errors": lambda: check_errors(comm),
        "opcheck": lambda: check_opcheck(comm),
        "graph": lambda: check_graph(comm),
        "store": check_store,
        "reserve": check_reserve,
        "deterministic": check_deterministic,
        "deadline": check_deadline,
        "engine": check_engine,
        "flashinfer": lambda: check_flashinfer(comm),
        "distributed": check_distributed,
        "dropped": check_dropped,
        "max_size": check_max_size,
        "compile": lambda: check_compile(comm),
        "compile with graphs": lambda: check_compile_with_graphs(comm),
        "compiled mutation": lambda: check_compiled_mutation(comm),
        "export": lambda: check_export(comm),
    }
    failed = 0
    only = sys.argv[1:]
    for name, check in checks.items():
        if only and name not in only:
            continue
        try:
            check()
            torch.cuda.synchronize()
            said = "ok"
        except Exception as error:  # the others go on: all ranks fail alike, or the launcher ends them
            failed += 1
            said = f"FAILED: {type(error).__name__}: {error}"
            if dist.get_rank() == 0:
                traceback.print_exc(limit=-4)
        if dist.get_rank() == 0 or said != "ok":
            print(f"{dist.get_world_size()} ranks, rank {dist.get_rank()}, {name}: {said}", flush=True)
    dist.barrier()
    os._exit(1 if failed else 0)


if __name__ == "__main__":
    main()
