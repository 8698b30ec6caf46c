// TensorRT-LLM's in-flight batching: decoding requests go first, then prompts in the order in which
// they came, within max_num_tokens. Without chunks a prompt runs whole or waits, and those behind
// it wait, too; with chunks a part of it is a multiple of a block. GUARANTEED_NO_EVICT begins a
// request where the cache holds its prompt and its whole output beside all that others may still
// need; MAX_UTILIZATION where its prompt fits, and it throws out the newest where blocks end.
#include <algorithm>

#include "plan/schedule/decode_first.h"

namespace assay::plan {
namespace {

Limits trtllm_defaults() {
  return {.max_batch = 2048,
          .max_tokens = 8192,
          .prompts = Limits::Prompts::kWhole,
          .capacity = Limits::Capacity::kGuaranteedNoEvict,
          .overlap = Limits::Overlap::kOneStep,
          .kv_block_tokens = 32,
          .graph_batches = graph_batches_to(128)};
}

std::int64_t whole_need(Group& group, const Sequence& sequence) {
  return group.pool().blocks_for(sequence.prompt + sequence.output);
}

// Blocks that running requests may still take until they end.
std::int64_t reserved_blocks(Group& group) {
  std::int64_t reserved = 0;
  for (const Sequence& sequence : group.running())
    reserved += whole_need(group, sequence) - sequence.blocks;
  return reserved;
}

// Tokens of a prompt in a step with so much budget left; 0 where it waits.
std::int64_t prompt_tokens_now(const Limits& limits,
                               std::int64_t prompt_left,
                               std::int64_t budget) {
  if (prompt_left <= budget) return prompt_left;
  if (limits.prompts == Limits::Prompts::kWhole) return 0;
  return budget / limits.kv_block_tokens * limits.kv_block_tokens;
}

// Decoding requests have their blocks reserved, so that none is ever thrown out.
std::int64_t schedule_reserved(Group& group, std::int64_t budget) {
  const auto take = [&](Sequence& sequence, std::int64_t tokens) {
    if (tokens == 0 || !group.grow(sequence, tokens)) return;
    sequence.tokens_now = tokens;
    budget -= tokens;
  };
  bool any_prompts = false;
  for (Sequence& sequence : group.running()) {
    if (sequence.decodes())
      take(sequence, std::min(group.decode_tokens(sequence), budget));
    else
      any_prompts = true;
  }
  if (!any_prompts) return budget;
  for (Sequence& sequence : group.running()) {
    if (!sequence.decodes())
      take(sequence, prompt_tokens_now(group.limits(), sequence.prompt_left(), budget));
  }
  return budget;
}

void schedule_trtllm(Group& group) {
  const Limits& limits = group.limits();
  const bool reserves = limits.capacity == Limits::Capacity::kGuaranteedNoEvict;
  std::int64_t budget = reserves ? schedule_reserved(group, limits.max_tokens)
                                 : schedule_running(group, limits.max_tokens);
  if (group.preempted() || group.waiting().empty() || group.free_slots() <= 0) return;
  std::int64_t reserved = reserves ? reserved_blocks(group) : 0;
  while (budget > 0 && !group.waiting().empty() && group.free_slots() > 0) {
    const Group::Offer offer = group.offer();
    const Sequence& first = group.waiting().front();
    const std::int64_t whole =
        reserves ? whole_need(group, first) : group.pool().blocks_for(first.target);
    if (whole - offer.found_blocks > offer.available - reserved) return;
    const std::int64_t tokens = prompt_tokens_now(limits, offer.wanted(), budget);
    if (tokens == 0 || !group.admit(offer, tokens)) return;
    if (reserves) reserved += whole - group.running().back().blocks;
    budget -= tokens;
  }
}

const Policy kTrtllm{.name = "trtllm",
                     .engine = Engine::kTrtllm,
                     .defaults = trtllm_defaults,
                     .schedule = schedule_trtllm};
ASSAY_REGISTER(Policy, kTrtllm);

}  // namespace
}  // namespace assay::plan
