// How an engine can spread a model over the GPUs of one worker.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/model.h"
#include "model/serving/uses.h"
#include "plan/engine.h"
#include "plan/price/staged_cost.h"
#include "store/systems/system_facts.h"

namespace assay::plan {

// Of a deployment, and copies of it: what options and files say may be so many at most.
inline constexpr std::int64_t kMostGpus = 100'000;

// One worker: the GPUs that serve one copy of the model.
struct Worker {
  std::int64_t tp = 1;      // GPUs that share heads and dense layers
  std::int64_t dp = 1;      // groups of `tp` with requests of their own, which share experts
  std::int64_t moe_tp = 1;  // GPUs that share an expert; moe_tp x moe_ep = tp x dp
  std::int64_t moe_ep = 1;
  std::int64_t pp = 1;  // stages of tp x dp GPUs, which hold a part of the layers each

  [[nodiscard]] std::int64_t gpus() const { return tp * dp * pp; }

  // "tp 4", "tp 1, dp 8, ep 8", "tp 8, pp 2"
  [[nodiscard]] std::string text() const;

  bool operator==(const Worker& other) const = default;
};

// A worker that the engine or the model rules out.
struct ExcludedWorker {
  Worker worker;
  std::string reason;
};

struct Workers {
  std::vector<Worker> possible = {};
  std::vector<ExcludedWorker> excluded = {};
};

// All workers of at most `most_gpus` GPUs, in powers of two. Models without experts have no groups;
// TensorRT-LLM's groups are of one GPU; vLLM shares experts in one way or the other.
Workers workers_of(const serving::Model& model,
                   Engine engine,
                   const serving::Precision& precision,
                   std::int64_t most_gpus);

// Error: the engine cannot spread the model over this worker's GPUs; it says why. Each of its
// stages shares its layers in the same way, so that their number is not looked at.
core::Status check_worker(const serving::Model& model,
                          Engine engine,
                          const serving::Precision& precision,
                          const Worker& worker);

// Error: the engine sends no caches from instances that compute prompts to such that decode.
core::Status check_pools(Engine engine, const Worker& prefill, const Worker& decode);

// Those of `possible` in 2, 4, ... stages, at most `most_stages` and `most_gpus` GPUs in all, whose
// layers divide evenly or nearly: the longest stage has at most an eighth more than its share.
// Error of each excluded one: its layers do not.
Workers staged_workers_of(const serving::Model& model,
                          const std::vector<Worker>& possible,
                          std::int64_t most_stages,
                          std::int64_t most_gpus);

// How the worker's stages follow each other. `link` gives the link between two of so many GPUs that
// communicate. Error: there are more stages than layers, or a link's bandwidth is unknown.
core::Result<Pipeline> pipeline_of(const serving::Model& model,
                                   const Worker& worker,
                                   std::int64_t gpus_per_node,
                                   const std::function<StageLink(std::int64_t gpus)>& link);

// The link between two of so many GPUs of a system.
StageLink stage_link(const store::SystemFacts& facts, std::int64_t gpus);

serving::Deployment deployment_of(const serving::Model& model,
                                  const Worker& worker,
                                  const serving::Precision& precision,
                                  std::int64_t speculative_tokens = 0,
                                  std::int64_t most_tokens = 0);

}  // namespace assay::plan
