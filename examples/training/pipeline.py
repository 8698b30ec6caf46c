"""Training with one stage on each rank: send and recv between neighbours, GPipe's schedule.

Every microbatch goes forward, then every one goes backward: each pair of neighbours sees its
messages in one order, so no exchange can wait for another.
"""
import torch
import torch.distributed as dist
from torch import nn

from blocks import Block


class Pair:
    """The link between a stage and the next."""

    def __init__(self, first):
        self.group = dist.new_group([first, first + 1])
        self.other = first + 1 if dist.get_rank() == first else first

    def send(self, tensor):
        return dist.isend(tensor, self.other, group=self.group)

    def receive(self, like):
        received = torch.empty_like(like)
        dist.recv(received, self.other, group=self.group)
        return received


class Training:
    def __init__(self, options, device):
        rank, stages = dist.get_rank(), dist.get_world_size()
        self.is_first, self.is_last = rank == 0, rank == stages - 1
        # A pair of neighbours has a group, a communicator and an order of its own. Every rank
        # takes part in making every group.
        pairs = [Pair(first) for first in range(stages - 1)]
        self.previous = None if self.is_first else pairs[rank - 1]
        self.next = None if self.is_last else pairs[rank]
        torch.manual_seed(options.seed + rank)
        with device:
            self.stage = nn.Sequential(*(Block(options.hidden) for _ in range(options.layers)))
        self.stage.bfloat16()
        self.optimizer = torch.optim.AdamW(self.stage.parameters(), lr=1e-4, fused=True)
        shape = (options.batch, options.sequence, options.hidden)
        self.microbatches = [torch.randn(shape, device=device, dtype=torch.bfloat16)
                             for _ in range(options.microbatches)]

    def step(self):
        self.optimizer.zero_grad()
        passes = [self.forward(microbatch) for microbatch in self.microbatches]
        sends = [send for _, _, send in passes if send]
        for inputs, outputs, _ in passes:
            sends += self.backward(inputs, outputs)
        for send in sends:
            send.wait()
        self.optimizer.step()

    def forward(self, microbatch):
        """What came in, what came out, and its sending to the next stage, if there is one."""
        inputs = microbatch if self.is_first else self.previous.receive(microbatch)
        inputs.requires_grad_(not self.is_first)
        outputs = self.stage(inputs)
        if self.is_last:
            return inputs, outputs.square().mean(), None
        return inputs, outputs, self.next.send(outputs.detach())

    def backward(self, inputs, outputs):
        """The sending of the gradient to the stage before, if there is one."""
        outputs.backward(None if self.is_last else self.next.receive(outputs))
        return [] if self.is_first else [self.previous.send(inputs.grad)]

