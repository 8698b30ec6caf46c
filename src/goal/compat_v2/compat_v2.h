// `--compat v2`: the graph that the public generator of schedules makes of a recording
// (nccl_generator_v2, as of February 2026), operation by operation, so that the two can be compared
// and old results reproduced. What it does differently from goal/generate.h, and what that costs:
//
//   - Every GPU names its messages by itself: by the parallelism of a stream as that GPU sees it,
//     and a hash of three digits. GPUs may disagree, and names may collide.
//   - A message's tag is its number within (peer, name), in 4 digits, then the name, in 5.
//   - Slices and steps of a channel run side by side; forks and joins are calculations of 0 ns.
//   - GPUs of one node exchange empty messages, and both sides calculate bytes / 300 ns.
//   - LL and LL128 send their data without flags.
//
// Its costs are drawn at random anew in every run; here they are means, or drawn from a seed.
#pragma once

#include "core/result.h"
#include "goal/costs.h"
#include "goal/expand.h"
#include "goal/generate.h"
#include "model/job.h"
#include "model/schedule_writer.h"

namespace assay::goal {

struct CompatOptions {
  // Decimal digits of a tag. The name of a message has 5; together at most 9.
  unsigned number_digits = 4;
  unsigned name_digits = 5;
  Streams streams = Streams::kApart;
  unsigned threads = 0;  // 0: one per processor
};

// Appends one rank a GPU to the sink, at most `threads` of them in memory. Fails where the public
// generator cannot do it either: more messages than the digits can number, an algorithm that it
// does not know, more than 255 cpus. Gaps that overlaps made negative, where it stops, count as 0.
// The notes hold ranks and the layout of the tags.
core::Result<Generated> generate_compat_v2(const model::Job& job,
                                           const Costs& costs,
                                           const CompatOptions& options,
                                           model::RankSink& sink);

}  // namespace assay::goal
