"""Training a decoder of the Llama family, fully sharded: the step that 'assay goal synth' makes.

    torchrun --nproc_per_node 4 train.py --parallelism decoder --model config.json --active 0 --output o
    assay goal synth --model config.json --dp 4 --data-parallel fsdp --sequence 4096 -o made --write bin
    assay simulate made/output.bin

Weights are kept and updated in 32 bits, computed with in bfloat16, and gradients are reduced in 32 bits.
Layers are compiled, so that what lies between two products is one kernel.
"""
import json

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def rotated(x, cosine, sine):
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat((-second, first), -1) * sine


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        hidden, inner = config["hidden_size"], config["intermediate_size"]
        self.heads, self.kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        self.head_size = config.get("head_dim") or hidden // self.heads
        self.qkv = nn.Linear(hidden, (self.heads + 2 * self.kv_heads) * self.head_size, bias=False)
        self.out = nn.Linear(self.heads * self.head_size, hidden, bias=False)
        self.gate_up = nn.Linear(hidden, 2 * inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)
        self.norms = nn.ModuleList(nn.RMSNorm(hidden, config["rms_norm_eps"]) for _ in range(2))

    def forward(self, x, cosine, sine):
        x = x + self.out(self.attend(self.norms[0](x), cosine, sine))
        gate, up = self.gate_up(self.norms[1](x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)

    def attend(self, x, cosine, sine):
        heads = self.qkv(x).unflatten(-1, (-1, self.head_size)).transpose(1, 2)
        q, k, v = heads.split((self.heads, self.kv_heads, self.kv_heads), 1)
        attended = F.scaled_dot_product_attention(rotated(q, cosine, sine), rotated(k, cosine, sine), v,
                                                  is_causal=True, enable_gqa=True)
        return attended.transpose(1, 2).flatten(2)


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        hidden, vocabulary = config["hidden_size"], config["vocab_size"]
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))
        self.norm = nn.RMSNorm(hidden, config["rms_norm_eps"])
        self.output = nn.Linear(hidden, vocabulary, bias=False)

    def forward(self, tokens, cosine, sine):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, cosine, sine)
        return self.output(self.norm(x))


@torch.compile
def cross_entropy(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def rotations(config, sequence, device):
    """Cosines and sines of the rotary positions, [sequence, head size] in bfloat16."""
    size = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    frequencies = config.get("rope_theta", 1e4) ** (-torch.arange(0, size, 2, device=device) / size)
    angles = torch.arange(sequence, device=device)[:, None] * frequencies
    angles = torch.cat((angles, angles), -1)
    return angles.cos().bfloat16(), angles.sin().bfloat16()


class Training:
    def __init__(self, options, device):
        config = json.loads(options.model.read_text())
        torch.manual_seed(options.seed)
        with torch.device("meta"):
            self.model = Model(config)
        precision = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for layer in self.model.layers:
            layer.compile()
            fully_shard(layer, mp_policy=precision)
        fully_shard(self.model, mp_policy=precision)
        self.model.to_empty(device=device)
        for parameter in self.model.parameters():
            nn.init.normal_(parameter, mean=float(parameter.ndim == 1), std=0.02)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        shape = (options.batch, options.sequence)
        self.tokens = torch.randint(config["vocab_size"], shape, device=device)
        self.targets = torch.randint(config["vocab_size"], shape, device=device)
        self.rotations = rotations(config, options.sequence, device)

    def step(self):
        self.optimizer.zero_grad()
        cross_entropy(self.model(self.tokens, *self.rotations), self.targets).backward()
        self.optimizer.step()
