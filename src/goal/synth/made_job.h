// A job that was made, not recorded.
#pragma once

#include <cstdint>

#include "model/job.h"
#include "model/table.h"

namespace assay::goal {

struct MadeJob {
  model::Job job;             // of one block of replicas
  std::uint32_t repeats = 1;  // ScaleOptions::replicas
  model::Book summary;
};

}  // namespace assay::goal
