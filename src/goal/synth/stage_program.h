// The program of one pipeline stage in a training step.
#pragma once

#include <cstdint>
#include <vector>

#include "goal/synth/layer_passes.h"
#include "goal/synth/pipeline.h"
#include "goal/synth/program.h"
#include "goal/synth/training.h"
#include "model/serving/model.h"

namespace assay::goal {

// What a stage has and does.
struct StagePlan {
  std::uint32_t stage = 0;
  std::vector<PipelineTask> tasks;
  // By chunk, in the order of the forward pass; the embedding and the head count as layers.
  std::vector<std::vector<const LayerPasses*>> chunks;
  std::uint64_t message_bytes = 0;
  double optimizer_ns = 0;
  bool ties_embedding = false;  // its gradient is that of both ends of the pipeline
  std::uint64_t embedding_parameters = 0;
  ShardingCopies ends_sharding = {};  // of the embedding and the head, which are gathered together

  [[nodiscard]] std::uint64_t dense_parameters() const;
  [[nodiscard]] std::uint64_t expert_parameters() const;
};

Program stage_program(const StagePlan& stage, const TrainingPlan& plan);

// The kinds of a model's layers in an order: dense ones before those with experts, and kinds that
// differ by their attention evenly mixed, since a Model does not tell theirs. Indices into
// Model::layers.
std::vector<std::size_t> spread_layers(const serving::Model& model);

}  // namespace assay::goal
