// Makes the graph that the public generator of schedules makes of a recording (nccl_generator_v2,
// as of February 2026), operation by operation, so that the two can be compared and old results
// reproduced: `--compat v2`. It differs from goal/generate.h in these points:
//
//   - Every GPU names its messages by itself: by the parallelism of a stream as that GPU sees it,
//     and a hash of three digits. GPUs may disagree, and names may collide.
//   - A message's tag is its number within (peer, name), in 4 digits, then the name, in 5.
//   - Slices and steps of a channel run side by side; forks and joins are calculations of 0 ns.
//   - GPUs of one node exchange empty messages, and both sides calculate bytes / 300 ns.
//   - LL and LL128 send their data without flags.
//
// The generator draws its costs at random in every run; here they are means, or drawn from a seed.
#pragma once

#include "core/result.h"
#include "goal/costs.h"
#include "goal/schedule_files.h"
#include "goal/timeline.h"
#include "model/job.h"

namespace assay::goal {

struct CompatOptions {
  // Decimal digits of the two parts of a tag; together at most 9. The generator's names have 5.
  unsigned number_digits = 4;
  unsigned name_digits = 5;
  Streams streams = Streams::kApart;
  unsigned threads = 0;  // 0: one per processor
};

// A rank fails where the public generator cannot make it either: more messages than the digits can
// number, an algorithm that it does not know, more than 255 cpus. Gaps that overlaps made negative,
// where it stops, count as 0. The notes hold the layout of the tags. The plan refers to the job and
// the costs.
core::Result<SchedulePlan> plan_compat_v2(const model::Job& job,
                                          const Costs& costs,
                                          const CompatOptions& options);

}  // namespace assay::goal
