// What bounds an engine: its settings, and the memory that is left for its cache.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/speculation.h"

namespace assay::plan {

struct Limits {
  // Requests that run at once: max_num_seqs, max_batch_size, max_running_requests.
  std::int64_t max_batch = 256;
  // Tokens of a step: max_num_batched_tokens, max_num_tokens; of a batch of prompts that may be
  // cut: chunked_prefill_size.
  std::int64_t max_tokens = 8192;
  // SGLang's max_prefill_tokens; other engines do not read it.
  std::int64_t max_prefill_tokens = 16384;

  enum class Prompts : std::uint8_t { kWhole, kChunked };
  Prompts prompts = Prompts::kChunked;

  // When a request may begin. TensorRT-LLM's two policies: with its whole cache reserved, so that
  // none is ever thrown out, or as soon as its prompt fits.
  enum class Capacity : std::uint8_t { kGuaranteedNoEvict, kMaxUtilization };
  Capacity capacity = Capacity::kMaxUtilization;

  // Whether the host prepares a step while the one before runs. Decisions are then a step old:
  // what arrives waits for one step more, and what a request that ended held is free a step later.
  // Tokens still come out at the end of their step.
  enum class Overlap : std::uint8_t { kNone, kOneStep };
  Overlap overlap = Overlap::kNone;

  enum class PrefixCache : std::uint8_t { kOff, kOn };
  PrefixCache prefix_cache = PrefixCache::kOn;

  // The cache of one group of GPUs, in tokens and in tokens of a block. There is no default for
  // the first: it is what weights and activations leave.
  std::int64_t kv_tokens = 0;
  std::int64_t kv_block_tokens = 16;

  // Batches that were captured as CUDA graphs, growing; none for no graphs. A smaller batch is
  // computed as the next captured one: see Policy::graphs.
  std::vector<std::int64_t> graph_batches = {};
  // The engine captures only multiples of this: SGLang, of groups of several GPUs.
  std::int64_t graph_multiple = 1;
  // What steps draft; each request that decodes then counts for as many tokens as are verified.
  Speculation speculation = {};

  // A step that no graph holds takes at least this long: the host launches its kernels one by one.
  double eager_step_ms = 0;

  // The front end (HTTP, tokenisation) takes so long for each request, one after the other, before
  // the scheduler sees it. Without it requests that leave together stay together.
  double request_ms = 0;
  // What lies between a client and the scheduler takes so long besides, for all requests side by
  // side: the client's own time, the way, the front end's waiting. TTFT has it, and in a closed
  // loop the next request comes so much later.
  double client_ms = 0;

  // Attention data parallelism: groups with a scheduler and a cache each, whose steps end
  // together. Requests go to them in turn. All other limits are those of one group.
  std::int64_t groups = 1;
  // This is how many groups that follow each other send their tokens to the same experts.
  std::int64_t groups_of_experts = 1;
};

// Multiples of `step` up to `most` behind 1, 2 and 4: what engines capture by default.
std::vector<std::int64_t> graph_batches_to(std::int64_t most, std::int64_t step = 8);

}  // namespace assay::plan
