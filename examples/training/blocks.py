"""The layer that both variants stack."""
import torch.nn.functional as F
from torch import nn

HEAD_SIZE = 128


class FeedForward(nn.Module):
    def __init__(self, hidden, inner):
        super().__init__()
        self.up = nn.Linear(hidden, inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    """A transformer layer, 12 hidden^2 parameters: causal attention and a feed-forward network."""

    def __init__(self, hidden):
        super().__init__()
        self.qkv = nn.Linear(hidden, 3 * hidden, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.feed_forward = FeedForward(hidden, 4 * hidden)

    def forward(self, x):
        x = x + self.out(self.attend(F.layer_norm(x, x.shape[-1:])))
        return x + self.feed_forward(F.layer_norm(x, x.shape[-1:]))

    def attend(self, x):
        batch, sequence, hidden = x.shape
        qkv = self.qkv(x).view(batch, sequence, 3, hidden // HEAD_SIZE, HEAD_SIZE)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return attended.transpose(1, 2).reshape(batch, sequence, hidden)
