#include "model/serving/attention_chunks.h"

#include <algorithm>

namespace assay::serving {

std::vector<Prompts> cut_at_chunks(const Prompts& prompts, std::int64_t length) {
  std::vector<Prompts> parts;
  const auto add = [&](std::int64_t requests, std::int64_t new_tokens, std::int64_t cached) {
    if (requests > 0 && new_tokens > 0)
      parts.push_back({.requests = requests, .new_tokens = new_tokens, .cached_tokens = cached});
  };
  const std::int64_t begun = prompts.cached_tokens % length;
  const std::int64_t first = begun == 0 ? 0 : std::min(prompts.new_tokens, length - begun);
  const std::int64_t others = prompts.new_tokens - first;
  add(prompts.requests, first, begun);
  add(prompts.requests * (others / length), length, 0);
  add(prompts.requests, others % length, 0);
  return parts;
}

}  // namespace assay::serving
