// Attention to chunks: the tokens of a request are cut at multiples of a length, and a query has
// the keys before it in its own chunk alone (OperatorUse::chunk).
#pragma once

#include <cstdint>
#include <vector>

namespace assay::serving {

// Holds what requests of one length compute in a step of an engine.
struct Prompts {
  std::int64_t requests = 0;
  std::int64_t new_tokens = 0;     // of each request, in this step
  std::int64_t cached_tokens = 0;  // of each request, before them: a prefix, or of earlier steps

  friend bool operator==(const Prompts&, const Prompts&) = default;
};

// Returns prompts without earlier keys that do the same work: the rest of a chunk that was begun
// (which has the keys of its begin), whole chunks, and the begin of the last. `length` is the
// chunk's. A request that decodes is a prompt of one token.
std::vector<Prompts> cut_at_chunks(const Prompts& prompts, std::int64_t length);

}  // namespace assay::serving
