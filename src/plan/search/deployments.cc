#include "plan/search/deployments.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/stages.h"

namespace assay::plan {
namespace {

// Why the engine cannot run it; empty if it can.
std::string engine_refusal(const Worker& worker, Engine engine) {
  if (engine == Engine::kTrtllm && worker.dp > 1 && worker.tp > 1)
    return "TensorRT-LLM's groups with requests of their own have one GPU each";
  if (engine == Engine::kVllm && worker.moe_tp > 1 && worker.moe_ep > 1)
    return "vLLM shares either experts or their columns";
  return "";
}

// Why it cannot be served; empty if it can.
std::string refusal_of(const serving::Model& model,
                       Engine engine,
                       const serving::Precision& precision,
                       const Worker& worker) {
  std::string reason = engine_refusal(worker, engine);
  if (!reason.empty()) return reason;
  const core::Status status = check_deployment(model, deployment_of(model, worker, precision));
  return status.ok() ? "" : status.error().message;
}

bool is_power_of_two(std::int64_t number) {
  return number > 0 && (number & (number - 1)) == 0;
}

// A GPU that decodes reads from one GPU only, so that heads may be split there but not joined, and
// it knows ranks by their tp alone.
core::Status check_nixl_connector(const Worker& prefill, const Worker& decode) {
  if (const std::int64_t stages = std::max(prefill.pp, decode.pp); stages > 1)
    return core::Error{
        fmt::format("vLLM's NixlConnector sends no caches of stages: pp {}", stages)};
  if (decode.tp % prefill.tp == 0) return {};
  return core::Error{
      fmt::format("vLLM's NixlConnector sends caches to a tp that is a multiple of the sender's: "
                  "tp {} cannot compute prompts for tp {}",
                  prefill.tp, decode.tp)};
}

core::Status check_sglang_pools(const Worker& prefill, const Worker& decode) {
  if (decode.pp > 1 && decode.pp != prefill.pp)
    return core::Error{
        fmt::format("SGLang's instances that decode have one stage or those of the instances that "
                    "compute prompts: pp {} does not follow pp {}",
                    decode.pp, prefill.pp)};
  const std::int64_t senders = prefill.gpus() / prefill.pp;
  const std::int64_t receivers = decode.gpus() / decode.pp;
  if (std::max(senders, receivers) % std::min(senders, receivers) == 0) return {};
  return core::Error{
      fmt::format("SGLang sends caches between {} and {} GPUs only where one is a multiple of the "
                  "other",
                  senders, receivers)};
}

std::vector<Worker> workers_of_size(std::int64_t gpus, bool has_experts) {
  std::vector<Worker> workers;
  if (!has_experts) return {{.tp = gpus, .moe_tp = gpus}};
  for (std::int64_t dp = 1; dp <= gpus; dp *= 2) {
    for (std::int64_t ep = 1; ep <= gpus; ep *= 2)
      workers.push_back({.tp = gpus / dp, .dp = dp, .moe_tp = gpus / ep, .moe_ep = ep});
  }
  return workers;
}

}  // namespace

std::string Worker::text() const {
  std::string text = fmt::format("tp {}", tp);
  if (dp > 1) text += fmt::format(", dp {}", dp);
  if (moe_ep > 1) text += fmt::format(", ep {}", moe_ep);
  if (moe_tp > 1 && moe_tp != tp) text += fmt::format(", moe tp {}", moe_tp);
  if (pp > 1) text += fmt::format(", pp {}", pp);
  return text;
}

StageLink stage_link(const store::SystemFacts& facts, std::int64_t gpus) {
  const store::SystemFacts::SendingRate rate = facts.sending_rate(gpus);
  return {.bytes_per_s = rate.bytes_per_s,
          .latency_s = facts.peer_latency_s,
          .is_measured = rate.is_measured};
}

serving::Deployment deployment_of(const serving::Model& model,
                                  const Worker& worker,
                                  const serving::Precision& precision,
                                  std::int64_t speculative_tokens,
                                  std::int64_t most_tokens) {
  return {.tp = worker.tp,
          .moe_tp = worker.moe_tp,
          .moe_ep = worker.moe_ep,
          .precision = precision,
          .distribution = model.skew,
          .speculative_tokens = speculative_tokens,
          .most_tokens = most_tokens};
}

Workers workers_of(const serving::Model& model,
                   Engine engine,
                   const serving::Precision& precision,
                   std::int64_t most_gpus) {
  Workers workers;
  for (std::int64_t gpus = 1; gpus <= most_gpus; gpus *= 2) {
    for (const Worker& worker : workers_of_size(gpus, model.has_experts())) {
      std::string reason = refusal_of(model, engine, precision, worker);
      if (reason.empty()) {
        workers.possible.push_back(worker);
      } else {
        workers.excluded.push_back({worker, std::move(reason)});
      }
    }
  }
  return workers;
}

core::Status check_worker(const serving::Model& model,
                          Engine engine,
                          const serving::Precision& precision,
                          const Worker& worker) {
  if (!model.has_experts() && worker.dp > 1) {
    return core::Error{fmt::format(
        "{} has no experts for groups to share: {} groups are as many copies, each by itself "
        "(--copies of 'assay plan files')",
        model.name, worker.dp)};
  }
  if (!model.has_experts() && worker.moe_ep > 1)
    return core::Error{fmt::format("{} has no experts: no moe_ep {}", model.name, worker.moe_ep)};
  Worker stage = worker;
  stage.pp = 1;
  const std::string reason = refusal_of(model, engine, precision, stage);
  if (!reason.empty()) return core::Error{fmt::format("{}: {}", stage.text(), reason)};
  const bool divides = stage.gpus() == stage.moe_tp * stage.moe_ep;
  const auto widths = {stage.tp, stage.dp, stage.moe_tp, stage.moe_ep};
  if (divides && std::all_of(widths.begin(), widths.end(), is_power_of_two)) return {};
  return core::Error{
      fmt::format("tp {} x dp {} is not moe_tp {} x moe_ep {}, or not a power of two: no worker "
                  "shares a model so",
                  stage.tp, stage.dp, stage.moe_tp, stage.moe_ep)};
}

core::Status check_pools(Engine engine, const Worker& prefill, const Worker& decode) {
  switch (engine) {
    case Engine::kVllm:
      return check_nixl_connector(prefill, decode);
    case Engine::kSglang:
      return check_sglang_pools(prefill, decode);
    case Engine::kTrtllm:
      return {};
  }
  return {};
}

Workers staged_workers_of(const serving::Model& model,
                          const std::vector<Worker>& possible,
                          std::int64_t most_stages,
                          std::int64_t most_gpus) {
  constexpr double kMostExcess = 1.125;
  const std::int64_t layers = model.num_layers();
  Workers workers;
  for (const Worker& worker : possible) {
    for (std::int64_t stages = 2; stages <= std::min(most_stages, layers); stages *= 2) {
      Worker staged = worker;
      staged.pp = stages;
      if (staged.gpus() > most_gpus) break;
      if (stage_excess(layers, stages) <= kMostExcess) {
        workers.possible.push_back(staged);
      } else {
        workers.excluded.push_back(
            {staged, fmt::format("{} layers in {} stages leave some with much fewer than others",
                                 layers, stages)});
      }
    }
  }
  return workers;
}

core::Result<Pipeline> pipeline_of(const serving::Model& model,
                                   const Worker& worker,
                                   std::int64_t gpus_per_node,
                                   const std::function<StageLink(std::int64_t gpus)>& link) {
  Pipeline pipeline{.stages = worker.pp, .hidden = model.hidden};
  if (worker.pp == 1) return pipeline;
  const std::int64_t layers = model.num_layers();
  if (worker.pp > layers) {
    return core::Error{
        fmt::format("{} layers cannot be divided among {} stages", layers, worker.pp)};
  }
  const std::int64_t of_stage = worker.gpus() / worker.pp;
  pipeline.stages_per_node = std::max<std::int64_t>(1, gpus_per_node / of_stage);
  pipeline.excess = stage_excess(layers, worker.pp);
  pipeline.within = link(std::min(worker.gpus(), gpus_per_node));
  pipeline.between = link(worker.gpus());
  if (pipeline.within.bytes_per_s <= 0 || pipeline.between.bytes_per_s <= 0)
    return core::Error{"the system's file tells no bandwidth of the links between stages"};
  return pipeline;
}

}  // namespace assay::plan
