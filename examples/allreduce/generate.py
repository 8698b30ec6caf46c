#!/usr/bin/env python3
"""Text from a model that Transformers runs tensor-parallel, with the sums of PyTorch's NCCL and with
assay_allreduce behind the same calls: the time of a token, and whether the texts are the same.

    pip install dist/assay-*.whl
    torchrun --nproc_per_node 2 generate.py                       # random weights, 8 layers of Llama 8B
    torchrun --nproc_per_node 2 generate.py --model MODEL --compile

Greedy, bfloat16. Each round generates three texts in each way, which comes first at random. Prints CSV:
the median of the slowest rank's time of a token, in milliseconds, of the decoding steps alone (the time
of a text of one token is taken off); and how many texts there were, of all that were generated, and of
those that NCCL gave. With 2 GPUs a sum of two bfloat16 is rounded once, whoever adds it, so that texts
part only where the model's own kernels add in an order of their own, as they do with NCCL, too.
"""
import argparse
import itertools
import os
import random
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from transformers import AutoModelForCausalLM, LlamaConfig

import assay_allreduce.distributed

WAYS = ("nccl", "assay")
TEXTS_OF_A_ROUND = 3
LLAMA_8B = {"hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
            "num_key_value_heads": 8, "vocab_size": 32768}


def made(layers, folder):
    """Writes a model with random weights, which is the same for all ranks."""
    if dist.get_rank() == 0:
        torch.manual_seed(1)
        with torch.device("cuda"):
            model = AutoModelForCausalLM.from_config(
                LlamaConfig(num_hidden_layers=layers, **LLAMA_8B), dtype=torch.bfloat16)
        model.save_pretrained(folder)
        del model
        torch.cuda.empty_cache()
    dist.barrier()
    return folder


class Generator:
    """One rank's side of the model, and of a way to sum."""

    def __init__(self, model, arguments):
        self.model, self.compiled = model, arguments.compile
        self.prompt = torch.randint(model.config.vocab_size, (arguments.batch, arguments.prompt),
                                    device="cuda", generator=torch.Generator("cuda").manual_seed(2))
        self.sums = None

    def take(self, way):
        """All ranks, in the same order."""
        if way == "assay":
            self.sums = assay_allreduce.distributed.install()
            if self.sums.disabled:
                sys.exit("generate.py: assay_allreduce is not used; the log says why")
        elif self.sums is not None:
            torch.cuda.synchronize()
            self.sums.close()
            self.sums = None

    def generate(self, tokens):
        """The tokens, and the slowest rank's seconds."""
        options = {"cache_implementation": "static"} if self.compiled else {}
        torch.cuda.synchronize()
        dist.barrier()
        start = time.perf_counter()
        text = self.model.generate(self.prompt, attention_mask=torch.ones_like(self.prompt),
                                   min_new_tokens=tokens, max_new_tokens=tokens, do_sample=False,
                                   pad_token_id=0, **options)
        torch.cuda.synchronize()
        seconds = torch.tensor(time.perf_counter() - start, device="cuda", dtype=torch.float64)
        dist.all_reduce(seconds, dist.ReduceOp.MAX)
        return text[:, self.prompt.shape[1]:], seconds.item()


def measure(generator, arguments):
    """Milliseconds of a token of each way, and its text, round by round."""
    times, texts = {way: [] for way in WAYS}, {way: [] for way in WAYS}
    order = random.Random(3)  # the same on all ranks
    for _ in range(arguments.rounds):
        for way in order.sample(WAYS, len(WAYS)):
            generator.take(way)
            if arguments.compile:
                torch.compiler.reset()  # a graph keeps the sums that it was captured with
            for _ in range(2):
                generator.generate(arguments.tokens)
            for _ in range(TEXTS_OF_A_ROUND):
                _, first = generator.generate(1)
                text, whole = generator.generate(arguments.tokens)
                texts[way].append(text)
                times[way].append((whole - first) / (arguments.tokens - 1) * 1e3)
    generator.take("nccl")
    return times, texts


def different(texts):
    """The texts without those that came before."""
    return [text for number, text in enumerate(texts)
            if not any(torch.equal(text, other) for other in texts[:number])]


def report(times, texts):
    """The lines of the CSV."""
    nccl, known = statistics.median(times["nccl"]), different(texts["nccl"])
    yield "way,token (ms),of nccl,texts,of nccl's"
    for way in WAYS:
        mine, token = different(texts[way]), statistics.median(times[way])
        shared = sum(torch.equal(*pair) for pair in itertools.product(mine, known))
        yield f"{way},{token:.3f},{token / nccl:.3f},{len(mine)},{shared}"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a folder or name that from_pretrained() takes")
    parser.add_argument("--layers", type=int, default=8, help="of the model with random weights")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--prompt", type=int, default=128, help="tokens")
    parser.add_argument("--tokens", type=int, default=64, help="tokens to generate")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compile", action="store_true",
                        help="with a static cache, for which Transformers compiles the decoding step")
    return parser.parse_args()


def main():
    arguments = parse()
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=torch.device("cuda", device))
    out = os.dup(1)  # Transformers closes standard output on other ranks
    with tempfile.TemporaryDirectory() as folder:
        shared = [folder]
        dist.broadcast_object_list(shared)
        path = arguments.model or made(arguments.layers, shared[0])
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16, tp_plan="auto")
        dist.barrier()
    with torch.inference_mode():
        times, texts = measure(Generator(model, arguments), arguments)
    if dist.get_rank() == 0:
        os.write(out, "".join(f"{line}\n" for line in report(times, texts)).encode())
    dist.barrier()
    os._exit(0)  # NCCL waits for ever for graphs that hold its sums


if __name__ == "__main__":
    main()
