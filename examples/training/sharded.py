"""Training with sharded, replicated and expert parameters at once: all four kinds of collective.

The blocks are sharded (FSDP2: all-gather, reduce-scatter), the output layer is replicated as in
data parallelism (all-reduce), each expert lives on one rank (all-to-all).
"""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard

from blocks import Block, FeedForward


class Exchange(torch.autograd.Function):
    """Sends an equal part of the rows to every rank; gradients take the way back."""

    @staticmethod
    def forward(_context, rows):
        received = torch.empty_like(rows)
        dist.all_to_all_single(received, rows.contiguous())
        return received

    @staticmethod
    def backward(_context, gradient):
        return Exchange.apply(gradient)


class Experts(nn.Module):
    """A mixture of experts, `count` of them on each rank.

    A token's place decides its expert, so that every run sends the same bytes and drops no token.
    """

    def __init__(self, hidden, count):
        super().__init__()
        self.experts = nn.ModuleList(FeedForward(hidden, 2 * hidden) for _ in range(count))

    def forward(self, x):
        arrived = Exchange.apply(x.flatten(0, 1)).chunk(len(self.experts))
        results = [expert(tokens) for expert, tokens in zip(self.experts, arrived)]
        returned = Exchange.apply(results[0] if len(results) == 1 else torch.cat(results))
        return x + returned.view_as(x)


class Model(nn.Module):
    """Blocks, every second one followed by experts, and an output layer."""

    def __init__(self, options):
        super().__init__()
        self.blocks = nn.ModuleList(Block(options.hidden) for _ in range(options.layers))
        self.experts = nn.ModuleList(Experts(options.hidden, options.experts)
                                     for _ in range(options.layers // 2 if options.experts else 0))
        self.output = nn.Linear(options.hidden, options.vocabulary, bias=False)

    def forward(self, x):
        for index, block in enumerate(self.blocks):
            x = block(x)
            if index % 2 == 1 and self.experts:
                x = self.experts[index // 2](x)
        return self.output(x)

    def local_parameters(self):
        return [*self.experts.parameters(), self.output.weight]


class Training:
    def __init__(self, options, device):
        tokens, world_size = options.batch * options.sequence, dist.get_world_size()
        if options.experts and tokens % (world_size * options.experts) != 0:
            raise SystemExit(f"train.py: {tokens} tokens do not divide among {world_size} ranks "
                             f"with {options.experts} experts each")
        torch.manual_seed(options.seed)  # replicated parameters start equal
        with device:
            self.model = Model(options).bfloat16()
        self.shard()
        self.optimizer = self.make_optimizer()
        self.reductions = []
        self.model.output.weight.register_post_accumulate_grad_hook(
            lambda weight: self.average(weight.grad))
        torch.manual_seed(options.seed + dist.get_rank())
        self.inputs = torch.randn(options.batch, options.sequence, options.hidden,
                                  device=device, dtype=torch.bfloat16)
        self.targets = torch.randint(options.vocabulary, (tokens,), device=device)

    def shard(self):
        for block in self.model.blocks:
            fully_shard(block)
        fully_shard(self.model, ignored_params=set(self.model.local_parameters()))

    def make_optimizer(self):
        # One group each: an update cannot mix sharded with plain tensors.
        local = self.model.local_parameters()
        sharded = list(self.model.blocks.parameters())
        return torch.optim.AdamW([{"params": sharded}, {"params": local}], lr=1e-4, fused=True)

    def average(self, tensor):
        """Starts while the backward pass goes on, as data-parallel training does."""
        self.reductions.append(dist.all_reduce(tensor, op=dist.ReduceOp.AVG, async_op=True))

    def step(self):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(self.inputs).flatten(0, 1), self.targets)
        loss.backward()
        self.average(loss.detach())
        for reduction in self.reductions:
            reduction.wait()
        self.reductions.clear()
        self.optimizer.step()
