// Requests that decode with attention to chunks, of which a mean of lengths is known.
#pragma once

#include <cstdint>

namespace assay::plan {

// Returns how many keys requests that decode have in the mean, of which `cached` is the mean of the
// tokens in the cache; `length` is the chunk's. Nobody says how these are spread: they are taken to
// lie evenly within a tenth around the mean, or as far around it as the longest request's
// `most_tokens` lie (0: not known).
double keys_in_chunk(double cached, std::int64_t length, std::int64_t most_tokens = 0);

}  // namespace assay::plan
