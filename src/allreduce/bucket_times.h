// The times of whole buckets of the lookup table. TensorRT-LLM rounds the hidden size and the
// tokens of a message down to powers of two, so one entry answers for all hidden sizes from H to
// below 2 H and all tokens from T to below 2 T: messages of up to four times its bytes. An entry is
// therefore decided by the times over all of its bucket, not by those of its smallest message.
#pragma once

#include <cstdint>
#include <vector>

#include "allreduce/timings.h"

namespace assay::allreduce {

// These shapes will be run, as far as that is known. A bucket that holds any of them is decided by
// them alone. Without tokens a hidden size counts with all tokens of a bucket, and the reverse.
struct ServedShapes {
  std::vector<std::int64_t> hidden_sizes = {};
  std::vector<std::int64_t> num_tokens = {};

  [[nodiscard]] bool empty() const { return hidden_sizes.empty() && num_tokens.empty(); }
};

// Returns, for each entry of the public grid in whose bucket a cell was measured, each strategy's
// geometric mean over 4 hidden sizes × 4 token counts, evenly spread by ratio, or over the served
// shapes of the bucket. Times are those of TimeCurves. A strategy without a time somewhere in the
// bucket, where another has one, is left out, because there it cannot run; if that leaves none,
// those that have most times stay. A strategy that failed anywhere in the bucket is
// left out.
Timings bucket_timings(const Timings& timings,
                       const ServedShapes& served = {},
                       const Failures& failures = {});

// Returns for each entry what failed anywhere in its bucket.
Failures bucket_failures(const Failures& failures);

// Returns the served sizes by which no entry is decided: those that lie in no bucket, or where no
// strategy has a time.
ServedShapes unused_shapes(const Timings& timings, const ServedShapes& served);

}  // namespace assay::allreduce
