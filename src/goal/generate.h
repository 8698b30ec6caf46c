// A job's communication as a GOAL schedule: resolve, plan tags, expand every GPU, in this order.
#pragma once

#include "core/result.h"
#include "goal/costs.h"
#include "goal/expand.h"
#include "goal/stream_plan.h"
#include "goal/tags.h"
#include "model/job.h"
#include "model/schedule_notes.h"
#include "model/schedule_writer.h"

namespace assay::goal {

struct GenerateOptions {
  ExpandOptions expand;
  StreamOptions streams;
  TagOptions tags;
  Misfits misfits = Misfits::kLeaveOut;
  unsigned threads = 0;  // 0: one per processor
};

struct Generated {
  model::ScheduleNotes notes;
  model::Warnings warnings;
  std::uint64_t num_ops = 0;
  std::uint64_t num_messages = 0;  // each a send with its receive
};

// Appends one rank a GPU to the sink. At most `threads` ranks are in memory at once. Notes lack
// the generator and the source, which the caller knows. Fails rather than write a schedule whose
// sends and receives do not match.
core::Result<Generated> generate(const model::Job& job,
                                 const Costs& costs,
                                 const GenerateOptions& options,
                                 model::RankSink& sink);

}  // namespace assay::goal
