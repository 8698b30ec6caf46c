// vLLM's V1 scheduler: no phases, one budget of tokens. Running requests get their tokens first,
// then waiting ones what is left, in the order in which they came; a prompt that does not fit the
// rest is cut. A request begins only where its whole prompt fits the cache. Where a running one
// lacks a block, the newest is thrown out, computes everything again later, and nothing begins in
// that step.
#include <algorithm>

#include "plan/schedule/decode_first.h"

namespace assay::plan {
namespace {

Limits vllm_defaults() {
  Limits limits{.max_batch = 1024, .max_tokens = 8192, .kv_block_tokens = 16};
  limits.graph_batches = graph_batches_to(256);
  for (std::int64_t batch = 272; batch <= 512; batch += 16)
    limits.graph_batches.push_back(batch);
  return limits;
}

void schedule_vllm(Group& group) {
  std::int64_t budget = schedule_running(group, group.limits().max_tokens);
  if (group.preempted()) return;
  while (budget > 0 && !group.waiting().empty() && group.free_slots() > 0) {
    const Group::Offer offer = group.offer();
    if (group.limits().prompts == Limits::Prompts::kWhole && offer.wanted() > budget) return;
    const std::int64_t whole = group.pool().blocks_for(group.waiting().front().target);
    if (whole - offer.found_blocks > offer.available) return;
    const std::int64_t tokens = std::min(offer.wanted(), budget);
    if (!group.admit(offer, tokens)) return;
    budget -= tokens;
  }
}

const Policy kVllm{.name = "vllm",
                   .engine = Engine::kVllm,
                   .defaults = vllm_defaults,
                   .graphs = Policy::Graphs::kAllSmall,
                   .schedule = schedule_vllm};
ASSAY_REGISTER(Policy, kVllm);

}  // namespace
}  // namespace assay::plan
