#include "goal/synth/made_summary.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/counted.h"

namespace assay::goal {
namespace {

using model::Table;

double milliseconds(double ns) {
  return ns / 1e6;
}

struct StageTimes {
  double forward_ns = 0;  // of a micro-batch
  double backward_ns = 0;
  double flops = 0;
};

StageTimes times_of(const StagePlan& stage) {
  StageTimes times;
  for (const auto& layers : stage.chunks) {
    for (const LayerPasses* layer : layers) {
      times.forward_ns += compute_ns(layer->forward);
      times.backward_ns += compute_ns(layer->backward) + compute_ns(layer->weights);
      times.flops += layer->flops;
    }
  }
  return times;
}

// Each product of the forward pass has two in the backward pass; attention counts so by custom.
double model_flops(const TrainingPlan& plan, const std::vector<StagePlan>& stages) {
  double flops = 0;
  for (const StagePlan& stage : stages)
    flops += times_of(stage).flops;
  return 3 * flops * plan.micro_batches * plan.grid.tp * plan.grid.dp;
}

Table step_table(const TrainingPlan& plan, const TrainingFacts& facts, const OperatorLog& log) {
  const JobGrid& grid = plan.grid;
  Table table{.name = "step",
              .title = "The step that was made",
              .columns = {{.name = "what"}, {.name = "value"}}};
  const auto add = [&](const char* what, std::string value) {
    table.add_row({std::string(what), std::move(value)});
  };
  add("GPUs", fmt::format("{}: tp {}, {}, {}", grid.gpus(), grid.tp,
                          core::counted(grid.stages, "stage"), core::counted(grid.dp, "replica")));
  add("replicas of a block, which the others repeat", fmt::format("{}", grid.block_dp()));
  const std::uint64_t sequences = std::uint64_t{plan.micro_batches} * plan.micro_batch * grid.dp;
  add("sequences", fmt::format("{}", sequences));
  add("tokens", fmt::format("{}", sequences * plan.sequence));
  const double flops = model_flops(plan, facts.stages);
  add("model operations", fmt::format("{:.4g} TFLOP", flops / 1e12));
  add("computation of the busiest stage",
      fmt::format("{:.3f} ms", milliseconds(static_cast<double>(facts.assembled.busiest_ns))));
  add("of that, for collectives beside it that hold channels",
      fmt::format("{:.3f} ms", milliseconds(static_cast<double>(facts.assembled.busiest_held_ns))));
  const auto estimated_ns = static_cast<double>(facts.assembled.estimated_ns);
  add("step, roughly", fmt::format("{:.3f} ms, {:.0f} TFLOP/s of a GPU", milliseconds(estimated_ns),
                                   flops / estimated_ns / static_cast<double>(grid.gpus()) / 1e3));
  add("operators with times that were derived",
      fmt::format("{} of {}", log.num_derived(), log.size()));
  return table;
}

Table stages_table(const std::vector<StagePlan>& stages) {
  Table table{.name = "stages",
              .title = "Each stage of the pipeline, on one GPU",
              .columns = {{.name = "stage"},
                          {.name = "parameters", .unit = "M"},
                          {.name = "forward", .unit = "ms", .description = "of a micro-batch"},
                          {.name = "backward", .unit = "ms", .description = "of a micro-batch"},
                          {.name = "optimizer", .unit = "ms"},
                          {.name = "in flight",
                           .description = "most passes of chunks whose activations are kept"}}};
  for (const StagePlan& stage : stages) {
    const StageTimes times = times_of(stage);
    const double parameters =
        static_cast<double>(stage.dense_parameters() + stage.expert_parameters());
    table.add_row({static_cast<std::int64_t>(stage.stage), parameters / 1e6,
                   milliseconds(times.forward_ns), milliseconds(times.backward_ns),
                   milliseconds(stage.optimizer_ns),
                   static_cast<std::int64_t>(most_in_flight(stage.tasks))});
  }
  return table;
}

}  // namespace

model::Book training_summary(const serving::Model& model,
                             const TrainingPlan& plan,
                             const TrainingFacts& facts,
                             const OperatorLog& log) {
  model::Book book{
      .title = fmt::format("A training step of {}: {} of {} x {} tokens, {}, {}", model.name,
                           core::counted(plan.micro_batches, "micro-batch", "micro-batches"),
                           plan.micro_batch, plan.sequence, name_of(plan.pipeline),
                           name_of(plan.data_parallel))};
  book.tables = {step_table(plan, facts, log), stages_table(facts.stages), log.table()};
  book.tables.front().notes = {
      "Computation is kernels only: nothing of what hosts add between them.",
      "The rough step takes collectives at fixed bandwidths; 'assay simulate' runs them."};
  if (model.layers.size() > 1) {
    book.tables.front().notes.emplace_back(
        "Kinds of layers are spread evenly over the model, dense ones before those with experts.");
  }
  return book;
}

}  // namespace assay::goal
