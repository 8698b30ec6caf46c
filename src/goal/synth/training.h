// Makes the job of a training step without a recording: from a model, the way it is spread over
// GPUs, and the times of operators.
//
// A stage computes its micro-batches in the order of the pipeline's schedule (pipeline.h), each as
// layer_passes.h tells. Messages between stages run beside computation: a stage begins to receive
// what its next pass needs when it begins the pass before.
//
// Gradients are 32 bits wide and synchronised while the last micro-batch's backward pass goes on,
// in buckets of whole layers. Then the optimizer runs; with it distributed, gradients are
// reduce-scattered and updated parameters, of 16 bits, all-gathered behind it. Fully sharded, each
// layer is gathered before it computes, forward and backward, while the layer before does, and its
// gradients are scattered behind it, in every micro-batch, with the copies of PyTorch's FSDP2.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/result.h"
#include "goal/synth/assemble.h"
#include "goal/synth/layer_passes.h"
#include "goal/synth/made_job.h"
#include "goal/synth/operator_times.h"
#include "goal/synth/pipeline.h"
#include "model/serving/model.h"

namespace assay::goal {

enum class DataParallel : std::uint8_t { kAllReduce, kDistributedOptimizer, kFullySharded };

std::string_view name_of(DataParallel how);  // "all-reduce", "distributed", "fsdp"

struct TrainingPlan {
  JobGrid grid = {};
  bool sequence_parallel = false;
  std::uint32_t micro_batches = 1;
  std::uint32_t micro_batch = 1;  // sequences
  std::uint32_t sequence = 4096;  // tokens
  Pipeline pipeline = Pipeline::kOneForwardOneBackward;
  std::uint32_t chunks = 1;  // of layers on a stage
  DataParallel data_parallel = DataParallel::kDistributedOptimizer;
  std::uint64_t bucket_parameters = 40'000'000;  // Megatron-LM's least
  Recompute recompute = Recompute::kNone;
};

// Error: sizes that the GPUs do not divide, or no time for an operator.
core::Result<MadeJob> make_training_job(const serving::Model& model,
                                        const TrainingPlan& plan,
                                        OperatorTimes& times);

}  // namespace assay::goal
