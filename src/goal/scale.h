// A job of more GPUs than were recorded, by data parallelism: the recorded GPUs are one replica of
// several, each on nodes of its own.
//
// Communicators that synchronise replicas grow: their rings run through replica after replica,
// their trees are NCCL's for the new nodes. Others exist once in each replica. What every rank
// gives to AllGather or gets from ReduceScatter shrinks with the number of replicas where the
// whole stays the same size, as in sharded training. Times stay as recorded, so that only the
// communication changes.
#pragma once

#include <string>

#include "core/result.h"
#include "model/job.h"

namespace assay::goal {

struct ScaleOptions {
  unsigned replicas = 1;
  // Name of the communicator that grows; empty: those with all recorded ranks, and those over
  // which collectives run while others carry sends and receives.
  std::string communicator = {};
};

core::Result<model::Job> scale(const model::Job& job, const ScaleOptions& options);

}  // namespace assay::goal
