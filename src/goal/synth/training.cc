#include "goal/synth/training.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "core/counted.h"
#include "goal/synth/made_summary.h"
#include "goal/synth/stage_program.h"

namespace assay::goal {
namespace {

core::Status check_sizes(const serving::Model& model, const TrainingPlan& plan) {
  const JobGrid& grid = plan.grid;
  ASSAY_TRY(check_grid(grid));
  ASSAY_TRY(check_pipeline({plan.pipeline, grid.stages, plan.chunks, plan.micro_batches}));
  // A layer has some ten operations in a micro-batch.
  constexpr double kMostPasses = 3e7;
  const double passes = static_cast<double>(model.num_layers()) * plan.micro_batches *
                        (static_cast<double>(grid.tp) * grid.block_dp());
  if (passes > kMostPasses) {
    return core::Error{fmt::format(
        "{:.3g} passes of layers in a block of replicas are more than fit: fewer micro-batches, or "
        "a number of replicas that whole nodes divide",
        passes)};
  }
  const std::int64_t parts = std::int64_t{grid.stages} * plan.chunks;
  if (model.num_layers() < parts) {
    const std::string of = plan.chunks > 1 ? fmt::format(" of {} chunks each", plan.chunks) : "";
    return core::Error{fmt::format("the {} of {} are too few for {}{}",
                                   core::counted(model.num_layers(), "layer"), model.name,
                                   core::counted(grid.stages, "stage"), of)};
  }
  if (grid.dp % grid.ep != 0) {
    return core::Error{fmt::format(
        "groups of {} GPUs with experts of their own lie within the {} replicas, which they must "
        "divide",
        grid.ep, grid.dp)};
  }
  if (grid.ep > 1 && !model.has_experts())
    return core::Error{
        fmt::format("{} has no experts to spread over {} GPUs", model.name, grid.ep)};
  if (grid.ep > 1 && grid.tp > 1 && !plan.sequence_parallel) {
    return core::Error{
        "experts on several GPUs beside shared tensors want sequence parallelism, as in "
        "Megatron-LM"};
  }
  if (plan.sequence_parallel && plan.sequence % grid.tp != 0) {
    return core::Error{
        fmt::format("a sequence of {} tokens cannot be shared by {} GPUs", plan.sequence, grid.tp)};
  }
  if (plan.data_parallel == DataParallel::kFullySharded && grid.stages > 1)
    return core::Error{"fully sharded layers have one pipeline stage"};
  if (plan.data_parallel == DataParallel::kFullySharded && grid.ep > 1)
    return core::Error{"fully sharded layers have all experts on each GPU"};
  return {};
}

PassOptions pass_options(const serving::Model& model, const TrainingPlan& plan) {
  const JobGrid& grid = plan.grid;
  return {.deployment = {.tp = grid.tp, .moe_tp = grid.tp, .moe_ep = grid.ep},
          .sequences = plan.micro_batch,
          .tokens = plan.sequence,
          .hidden = model.hidden,
          .sequence_parallel = plan.sequence_parallel && grid.tp > 1,
          .ep = grid.ep,
          .recompute = plan.recompute,
          .shares_embedding = model.ties_embedding && grid.stages == 1,
          .weights_apart = plan.pipeline == Pipeline::kZeroBubble};
}

// The passes of a model's layers, of which equal ones share one.
struct ModelPasses {
  std::vector<LayerPasses> kinds;
  std::vector<std::size_t> kind_of;  // by layer
  EndPasses ends;
  ShardingCopies ends_sharding = {};
};

core::Status add_sharding(const TrainingPlan& plan, ModelPasses& passes, OperatorLog& log) {
  if (plan.data_parallel != DataParallel::kFullySharded || plan.grid.dp == 1) return {};
  for (LayerPasses& kind : passes.kinds)
    kind.sharding = ASSAY_TRY(sharding_copies(kind.dense_parameters, plan.grid.dp, log));
  passes.ends_sharding = ASSAY_TRY(
      sharding_copies(passes.ends.embedding.dense_parameters + passes.ends.head.dense_parameters,
                      plan.grid.dp, log));
  return {};
}

core::Result<ModelPasses> model_passes(const serving::Model& model,
                                       const PassOptions& options,
                                       OperatorLog& log) {
  ModelPasses made;
  for (const serving::EqualLayers& equal : model.layers)
    made.kinds.push_back(ASSAY_TRY(layer_passes(model, equal.layer, options, log)));
  made.kind_of = spread_layers(model);
  made.ends = ASSAY_TRY(end_passes(model, options, log));
  return made;
}

// Which layers a part of the pipeline has. Where the parts do not divide them, the first ones have
// one more: the last one has the head.
struct LayerRange {
  std::size_t first = 0;
  std::size_t end = 0;
};

LayerRange layers_of_part(std::size_t layers, std::size_t parts, std::size_t part) {
  const std::size_t longer = layers % parts;
  const auto first = [&](std::size_t i) { return i * (layers / parts) + std::min(i, longer); };
  return {.first = first(part), .end = first(part + 1)};
}

std::vector<StagePlan> stage_plans(const serving::Model& model,
                                   const TrainingPlan& plan,
                                   const ModelPasses& passes) {
  const std::uint32_t stages = plan.grid.stages;
  const std::size_t parts = std::size_t{stages} * plan.chunks;
  std::vector<StagePlan> all;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    StagePlan& made = all.emplace_back();
    made.tasks = tasks_of_stage({plan.pipeline, stages, plan.chunks, plan.micro_batches}, stage);
    for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk) {
      std::vector<const LayerPasses*>& layers = made.chunks.emplace_back();
      const std::size_t part = std::size_t{chunk} * stages + stage;
      const LayerRange own = layers_of_part(passes.kind_of.size(), parts, part);
      if (part == 0) layers.push_back(&passes.ends.embedding);
      for (std::size_t layer = own.first; layer < own.end; ++layer)
        layers.push_back(&passes.kinds[passes.kind_of[layer]]);
      if (part + 1 == parts) layers.push_back(&passes.ends.head);
    }
    made.stage = stage;
    made.ties_embedding = model.ties_embedding && stages > 1 && (stage == 0 || stage + 1 == stages);
    made.embedding_parameters = passes.ends.embedding.dense_parameters;
  }
  return all;
}

// A message holds the sequence's part of a GPU, or all of it.
std::uint64_t message_bytes(const serving::Model& model, const TrainingPlan& plan) {
  constexpr std::uint64_t kActivationBytes = 2;
  const std::uint64_t tokens = std::uint64_t{plan.micro_batch} * plan.sequence;
  const std::uint64_t shares = plan.sequence_parallel ? plan.grid.tp : 1;
  return tokens * static_cast<std::uint64_t>(model.hidden) * kActivationBytes / shares;
}

// Parameters that a GPU updates.
std::uint64_t updated_parameters(const StagePlan& stage, const TrainingPlan& plan) {
  const bool is_shared = plan.data_parallel != DataParallel::kAllReduce;
  const std::uint64_t replicas = is_shared ? plan.grid.dp : 1;
  const std::uint64_t expert_replicas = is_shared ? plan.grid.dp / plan.grid.ep : 1;
  return stage.dense_parameters() / replicas + stage.expert_parameters() / expert_replicas;
}

}  // namespace

std::string_view name_of(DataParallel how) {
  constexpr std::array<std::string_view, 3> kNames = {"all-reduce", "distributed", "fsdp"};
  return kNames[static_cast<std::size_t>(how)];
}

core::Result<MadeJob> make_training_job(const serving::Model& model,
                                        const TrainingPlan& plan,
                                        OperatorTimes& times) {
  ASSAY_TRY(check_sizes(model, plan));
  const PassOptions options = pass_options(model, plan);
  ASSAY_TRY(serving::check_deployment(model, options.deployment));
  OperatorLog log(times);
  ModelPasses passes = ASSAY_TRY(model_passes(model, options, log));
  ASSAY_TRY(add_sharding(plan, passes, log));
  std::vector<StagePlan> stages = stage_plans(model, plan, passes);
  std::vector<Program> programs;
  for (StagePlan& stage : stages) {
    stage.message_bytes = message_bytes(model, plan);
    const std::uint64_t updated = updated_parameters(stage, plan);
    const bool is_sharded = plan.data_parallel == DataParallel::kFullySharded;
    stage.optimizer_ns =
        ASSAY_TRY(is_sharded ? fused_adamw_ns(updated, log) : optimizer_ns(updated, log));
    stage.ends_sharding = passes.ends_sharding;
    programs.push_back(stage_program(stage, plan));
  }
  AssembledJob assembled = ASSAY_TRY(assemble(programs, plan.grid));
  MadeJob made{.job = std::move(assembled.job), .repeats = plan.grid.repeats(), .summary = {}};
  made.summary = training_summary(model, plan, {stages, assembled}, log);
  return made;
}

}  // namespace assay::goal
