// Makes the job of one step of a served model: a prompt's or a decoding one, of GPUs that share
// tensors, and groups of them that share experts (serving::Deployment). Operators run one after
// another; an all-reduce follows each block, and tokens are all-gathered before experts on other
// groups' GPUs and reduce-scattered behind them. Collectives are NCCL's, also where engines have
// kernels of their own.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "goal/synth/made_job.h"
#include "goal/synth/operator_times.h"
#include "model/serving/model.h"
#include "model/serving/uses.h"

namespace assay::goal {

struct ServingStep {
  std::uint32_t tp = 1;
  std::uint32_t groups = 1;  // of tp GPUs with requests of their own
  std::uint32_t ep = 1;      // groups of GPUs with experts of their own; divides tp x groups
  serving::Phase phase = serving::Phase::kGeneration;
  std::uint32_t requests = 16;      // of a group
  std::uint32_t new_tokens = 1;     // of a request; 1 where it decodes
  std::uint32_t cached_tokens = 0;  // of a request, before them
  std::uint32_t gpus_per_node = 8;
};

// Error: sizes that the GPUs do not divide, or no time for an operator.
core::Result<MadeJob> make_serving_job(const serving::Model& model,
                                       const ServingStep& step,
                                       OperatorTimes& times);

}  // namespace assay::goal
