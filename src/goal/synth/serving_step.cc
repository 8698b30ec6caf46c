#include "goal/synth/serving_step.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/counted.h"
#include "goal/synth/assemble.h"
#include "goal/synth/memory_uses.h"
#include "goal/synth/operator_log.h"
#include "goal/synth/program.h"
#include "goal/synth/stage_program.h"

namespace assay::goal {
namespace {

class StepWriter {
 public:
  StepWriter(const ServingStep& step, OperatorLog& log) : step_(step), log_(log) {}

  // What stands before the layers, or after them.
  core::Status add(const std::vector<serving::OperatorUse>& uses) {
    for (const serving::OperatorUse& use : uses)
      ASSAY_TRY(add(use));
    return {};
  }

  Program finish() { return writer_.finish(); }

  [[nodiscard]] double flops() const { return flops_; }

 private:
  core::Status add(const serving::OperatorUse& use) {
    if (use.table == "custom_allreduce_perf") {
      writer_.call(collective_op(
          {Group::kTensor, model::NcclFunction::kAllReduce, message_bytes(use)}, Lane::kTensor));
      return {};
    }
    if (use.table == "nccl_perf") {
      exchange(use);
      return {};
    }
    if (use.op == "context_attention" || use.op == "generation_attention")
      ASSAY_TRY(compute(rotary_and_cache_use(use)));
    return compute(use);
  }

  // Its table counts elements of 16 bits.
  [[nodiscard]] std::uint64_t message_bytes(const serving::OperatorUse& use) const {
    constexpr std::uint64_t kElementBytes = 2;
    const serving::SizeField& message = use.sizes.front();
    const std::uint64_t groups =
        message.amount == serving::Amount::kExpertTokens ? step_.groups : 1;
    return groups * step_.requests * step_.new_tokens * static_cast<std::uint64_t>(message.factor) *
           kElementBytes;
  }

  // Tables have the bytes of all GPUs, a call its own.
  void exchange(const serving::OperatorUse& use) {
    const auto function = use.op_name == "all_gather" ? model::NcclFunction::kAllGather
                                                      : model::NcclFunction::kReduceScatter;
    const auto gpus = static_cast<std::uint64_t>(number_in(use, "num_gpus"));
    writer_.call(
        collective_op({Group::kServing, function, message_bytes(use) / gpus}, Lane::kExpert));
  }

  core::Status compute(const serving::OperatorUse& use) {
    const LaunchTime time = ASSAY_TRY(log_.time("step", use, amounts()));
    writer_.compute(time.ns);
    flops_ += time.flops;
    return {};
  }

  [[nodiscard]] LaunchAmounts amounts() const {
    const double tokens = static_cast<double>(step_.requests) * step_.new_tokens;
    return {.tokens = tokens,
            .requests = static_cast<double>(step_.requests),
            .new_tokens = static_cast<double>(step_.new_tokens),
            .cached_tokens = static_cast<double>(step_.cached_tokens),
            .expert_tokens = tokens * step_.groups};
  }

  const ServingStep& step_;
  OperatorLog& log_;
  ProgramWriter writer_;
  double flops_ = 0;
};

core::Status check_step(const serving::Model& model, const ServingStep& step) {
  ASSAY_TRY(check_grid({.tp = step.tp, .dp = step.groups, .ep = step.groups}));
  const std::uint32_t gpus = step.tp * step.groups;
  if (gpus % step.ep != 0) {
    return core::Error{
        fmt::format("{} groups with experts of their own do not divide {} GPUs", step.ep, gpus)};
  }
  if (step.ep > 1 && !model.has_experts())
    return core::Error{
        fmt::format("{} has no experts to spread over {} groups", model.name, step.ep)};
  return {};
}

model::Book serving_summary(const serving::Model& model,
                            const ServingStep& step,
                            const AssembledJob& assembled,
                            const OperatorLog& log,
                            double flops) {
  const std::uint32_t gpus = step.tp * step.groups;
  model::Table table{.name = "step",
                     .title = "The step that was made",
                     .columns = {{.name = "what"}, {.name = "value"}}};
  const auto add = [&](const char* what, std::string value) {
    table.add_row({std::string(what), std::move(value)});
  };
  const auto milliseconds = [](std::int64_t ns) {
    return fmt::format("{:.3f} ms", static_cast<double>(ns) / 1e6);
  };
  add("GPUs", fmt::format("{}: tp {}, {}, ep {}", gpus, step.tp,
                          core::counted(step.groups, "group"), step.ep));
  add("new tokens",
      fmt::format("{}", std::uint64_t{step.groups} * step.requests * step.new_tokens));
  add("operations of a GPU", fmt::format("{:.4g} TFLOP", flops / 1e12));
  add("computation", milliseconds(assembled.busiest_ns));
  add("step, roughly", milliseconds(assembled.estimated_ns));
  add("operators with times that were derived",
      fmt::format("{} of {}", log.num_derived(), log.size()));
  table.notes = {
      "The rough step takes collectives at fixed bandwidths; 'assay simulate' runs them.",
      "All-reduces are NCCL's; engines have kernels of their own for short ones."};
  return {.title = fmt::format(
              "A step of {} that {}: {} of {} + {} tokens a group", model.name,
              step.phase == serving::Phase::kContext ? "computes prompts" : "decodes",
              core::counted(step.requests, "request"), step.cached_tokens, step.new_tokens),
          .tables = {std::move(table), log.table()}};
}

}  // namespace

core::Result<MadeJob> make_serving_job(const serving::Model& model,
                                       const ServingStep& step,
                                       OperatorTimes& times) {
  ASSAY_TRY(check_step(model, step));
  const std::int64_t gpus = std::int64_t{step.tp} * step.groups;
  const serving::Deployment deployment{.tp = step.tp,
                                       .moe_tp = gpus / step.ep,
                                       .moe_ep = step.ep,
                                       .precision = model.precision,
                                       .distribution = model.skew};
  ASSAY_TRY(serving::check_deployment(model, deployment));
  OperatorLog log(times);
  StepWriter writer(step, log);
  serving::Model ends = model;
  ends.layers.clear();
  std::vector<serving::OperatorUse> around = serving::uses_of(ends, deployment, step.phase);
  const auto after =
      std::find_if(around.begin(), around.end(),
                   [](const serving::OperatorUse& use) { return use.role == "last norm"; });
  ASSAY_TRY(writer.add({around.begin(), after}));
  for (const std::size_t kind : spread_layers(model))
    ASSAY_TRY(writer.add(
        serving::uses_of_layer(model, model.layers[kind].layer, deployment, step.phase)));
  ASSAY_TRY(writer.add({after, around.end()}));
  const double flops = writer.flops();
  AssembledJob assembled = ASSAY_TRY(assemble(
      {writer.finish()},
      {.tp = step.tp, .dp = step.groups, .ep = step.groups, .gpus_per_node = step.gpus_per_node}));
  MadeJob made{
      .job = {}, .repeats = 1, .summary = serving_summary(model, step, assembled, log, flops)};
  made.job = std::move(assembled.job);
  return made;
}

}  // namespace assay::goal
