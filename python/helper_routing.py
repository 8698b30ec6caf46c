"""Which experts tokens choose, for modules that are in no collector with draws of its own.

The names are those that the public collector's modules import from its helper. Logits are returned
whose largest `topk` of a token are the chosen experts.
"""
import heapq


def sample_power_law(size, alpha, xmin, xmax):
    """Draws from a density that falls as x ** -alpha between the bounds; alpha is not 1."""
    import torch

    low, high = xmin ** (1 - alpha), xmax ** (1 - alpha)
    return (low + (high - low) * torch.rand(size)) ** (1 / (1 - alpha))


def check_sizes(num_experts, topk, ep=1):
    if topk > num_experts:
        raise ValueError(f"{topk} experts of {num_experts} cannot be chosen")
    if num_experts % ep:
        raise ValueError(f"{num_experts} experts cannot be shared by {ep} GPUs")


def balanced_choices(num_tokens, num_experts, topk):
    """The experts of each token, so that no expert has more than its share by more than one."""
    check_sizes(num_experts, topk)
    # Fewer tokens than experts are spread over all of them.
    step = max(num_experts // (num_tokens * topk), 1) if num_tokens else 1
    return [[(token * topk + choice) * step % num_experts for choice in range(topk)]
            for token in range(num_tokens)]


def power_law_counts(draws, num_tokens, topk, ep):
    """The tokens of each expert, in the ratio of the draws, the busiest GPU's experts first. An
    expert has at most all tokens, because a token chooses it once."""
    check_sizes(len(draws), topk, ep)
    wanted = num_tokens * topk
    share = wanted / sum(draws)
    counts = [min(round(draw * share), num_tokens) for draw in draws]
    size = len(draws) // ep
    missing = wanted - sum(counts)
    step = 1 if missing > 0 else -1
    # What rounding and the limit left over: the GPUs take one in turn, each at its expert with
    # fewest tokens (or gives one back, at that with most).
    heaps = [[(step * counts[expert], expert) for expert in range(gpu * size, (gpu + 1) * size)]
             for gpu in range(ep)]
    for heap in heaps:
        heapq.heapify(heap)
    limit = num_tokens if step > 0 else 0
    gpu = 0
    for _ in range(abs(missing)):
        while not heaps[gpu] or heaps[gpu][0][0] >= limit:
            gpu = (gpu + 1) % ep
        tokens, expert = heapq.heappop(heaps[gpu])
        counts[expert] += step
        heapq.heappush(heaps[gpu], (tokens + 1, expert))
        gpu = (gpu + 1) % ep
    parts = [counts[first:first + size] for first in range(0, len(counts), size)]
    busiest = max(range(ep), key=lambda number: sum(parts[number]))
    parts[0], parts[busiest] = parts[busiest], parts[0]
    return [count for part in parts for count in part]


def choices_of(counts, num_tokens, topk):
    """The experts of each token, from the tokens of each expert."""
    # One choice after the other for all tokens: no expert has more than a whole one, so that no
    # token gets it twice.
    order = sorted(range(len(counts)), key=lambda expert: -counts[expert])
    flat = [expert for expert in order for _ in range(counts[expert])]
    return [flat[token::num_tokens] for token in range(num_tokens)]


def _logits_of(choices, num_experts):
    """Equal logits for the experts of a token, and lower ones for all others."""
    import torch

    marks = torch.zeros(len(choices), num_experts, dtype=torch.bfloat16)
    marks.scatter_(1, torch.tensor(choices), 1)
    return torch.softmax(marks, dim=1)


def balanced_logits(num_tokens, num_experts, topk):
    """Every expert gets as many tokens as any other, as nearly as possible."""
    return _logits_of(balanced_choices(num_tokens, num_experts, topk), num_experts)


def power_law_logits_v3(num_tokens, num_experts, topk, ep, alpha, use_eplb=False, num_slots=None,
                        return_rank0_info=False):
    """A few experts get most tokens; the GPU with the most tokens is the first of `ep`."""
    if use_eplb or num_slots is not None or return_rank0_info:
        raise NotImplementedError("replicas of experts (EPLB) and local parts are drawn by the "
                                  "helper of the module's own collector, which was not found")
    bounds = (1, num_tokens * 0.8) if num_tokens * topk > num_experts else (0.01, 2)
    draws = sample_power_law(num_experts, alpha, *bounds).tolist()
    counts = power_law_counts(draws, num_tokens, topk, ep)
    return _logits_of(choices_of(counts, num_tokens, topk), num_experts)
