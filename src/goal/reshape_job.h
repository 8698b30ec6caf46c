// The changes that `assay goal generate` can make to a recorded job: it keeps only a window of
// time, and adds replicas.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/job.h"

namespace assay::goal {

// A span of time in seconds since the first GPU of the same clock began to be recorded.
struct Window {
  std::optional<double> from_s;
  std::optional<double> to_s;

  [[nodiscard]] bool given() const { return from_s.has_value() || to_s.has_value(); }
};

// Keeps the exchanges that began within the window. An operation is kept or dropped on all its
// ranks alike, by the first of them to start, so that no exchange is cut. Fails when nothing is
// left.
core::Result<model::Job> cut_window(model::Job job, const Window& window);

struct ScaleOptions {
  unsigned replicas = 1;
  // The names of the communicators that grow, with commas. Empty: those with all recorded ranks,
  // and those that shard parameters by AllGather and ReduceScatter.
  std::string communicator = {};
};

// Enlarges a job by data parallelism: the recorded GPUs become one replica of several, each on
// nodes of its own.
//
// Communicators that synchronise replicas grow: their rings run through one replica after the
// other, and their trees are those that NCCL builds for the new nodes. Other communicators exist
// once per replica. What every rank gives to AllGather or gets from ReduceScatter shrinks with the
// number of replicas, because in sharded training the whole keeps its size. Times stay as recorded,
// so that only the communication changes.
core::Result<model::Job> scale(const model::Job& job, const ScaleOptions& options);

// Returns which communicators grow with the number of replicas. Fails when none does, when a name
// is none of theirs, and without names when GPUs are in several that gather and scatter: tensor
// parallelism with sequences in parts does so, too.
core::Result<std::vector<bool>> growing_communicators(const model::Job& job,
                                                      const std::string& named);

// Returns for each clock when the first of its GPUs began to be recorded or, where that is unknown,
// to work.
std::vector<std::int64_t> clock_starts(const model::Job& job);

}  // namespace assay::goal
