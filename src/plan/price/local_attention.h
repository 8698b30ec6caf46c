// Attention to chunks: the tokens of a request are cut at multiples of a length, and a query has
// the keys before it in its own chunk alone.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/step.h"

namespace assay::plan {

// Returns prompts without earlier keys that do the same work: the rest of a chunk that was begun
// (which has the keys of its begin), whole chunks, and the begin of the last. `length` is the
// chunk's.
std::vector<Chunks> cut_at_chunks(const Chunks& prompts, std::int64_t length);

// Returns how many keys requests that decode have in the mean, of which `cached` is the mean of the
// tokens in the cache. Nobody says how these are spread: they are taken to lie evenly within a
// tenth around the mean.
double keys_in_chunk(double cached, std::int64_t length);

}  // namespace assay::plan
