// Which algorithm NCCL chose for the operations of a recording that does not tell it.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "goal/inputs/nccl_log.h"
#include "model/job.h"

namespace assay::goal {

// Sets algorithm, protocol and number of channels of the job's collectives that have none: what
// the log says of the n-th call of its function and size in its communicator, else of any call
// of them. Where no log tells, the ring is assumed, with LL up to 32 KiB a rank and SIMPLE above;
// that is counted in the warnings.
void add_choices(const NcclLog& log, model::Job& job);

}  // namespace assay::goal
