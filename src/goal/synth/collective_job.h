// One collective of any number of ranks, without a recording: what a network is tried with.
#pragma once

#include <cstdint>
#include <optional>

#include "core/result.h"
#include "goal/expand.h"
#include "goal/schedule_files.h"
#include "goal/simulators.h"
#include "goal/synth/made_job.h"

namespace assay::goal {

struct CollectivePlan {
  model::NcclFunction function = model::NcclFunction::kAllReduce;
  std::uint64_t bytes = 0;  // of the whole buffer, as nccl-tests count; shares are rounded up
  std::uint32_t ranks = 2;
  std::uint32_t gpus_per_node = 8;
  // Nothing: NCCL's choice.
  std::optional<model::NcclAlgorithm> algorithm = std::nullopt;
  std::optional<model::NcclProtocol> protocol = std::nullopt;
  std::optional<std::uint32_t> channels = std::nullopt;

  // Returns whether any of the three is given: then the others are choose_collective()'s.
  [[nodiscard]] bool fixes_algorithm() const { return algorithm || protocol || channels; }
};

// NCCL's collective as a job. Its ranks fill nodes one after another; all buffers are of bytes.
// Error: no such algorithm, or bytes that are too few for all ranks to have some.
core::Result<MadeJob> make_collective_job(const CollectivePlan& plan);

// Returns whether NCCL makes the function of grouped sends and receives: an all-to-all, a gather, a
// scatter, and a send to the next rank.
bool is_of_messages(model::NcclFunction function);

// Such a function as every textbook has it: a rank sends to all that get something from it at once,
// those of its node first, then others, nearest first; nothing waits for anything, and each message
// is one. As a job of NCCL an all-to-all would be 2 (n-1) operations on each of n ranks. The root
// is rank 0. `options` say what data within a node becomes.
core::Result<SchedulePlan> plan_messages(const CollectivePlan& plan,
                                         Simulator simulator = Simulator::kAssay,
                                         ExpandOptions options = {});

}  // namespace assay::goal
