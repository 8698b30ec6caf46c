// Which order among streams the schedule keeps, so that it can end.
#pragma once

#include "goal/resolve.h"
#include "goal/timeline.h"

namespace assay::goal {

// Whether streams that never overlap on any GPU become one chain.
enum class Streams { kApart, kMergedWhenDisjoint };

struct StreamOptions {
  Streams streams = Streams::kApart;
  StreamOrder order = StreamOrder::kObserved;
};

// NCCL's buffers let a send end before its receive starts; a schedule that makes others wait for
// that send's end may then wait in a circle over several GPUs. Streams are merged only when no
// circle follows; otherwise launches that would close one follow their own stream only, and are
// counted in `warnings`.
StreamPlan plan_streams(const Resolved& resolved,
                        const StreamOptions& options,
                        model::Warnings& warnings);

}  // namespace assay::goal
