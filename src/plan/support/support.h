// What of a model can be priced on a system by an engine, and what is missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/serving/model.h"
#include "model/serving/uses.h"
#include "plan/engine.h"
#include "plan/price/tables.h"
#include "plan/search/deployments.h"

namespace assay::plan {

// An operator with its shape, that some workers need.
struct SupportedUse {
  serving::OperatorUse use;
  std::vector<Worker> workers = {};
  std::optional<Fidelity> fidelity = std::nullopt;  // std::nullopt: it has no price
  std::string source = {};                          // whose rows answer: "vllm 0.14.0"
  bool has_key = false;                             // rows of this very shape were measured
  std::string why_missing = {};

  [[nodiscard]] bool is_missing() const { return !fidelity.has_value(); }

  // Rows would replace a price that is scaled or a lower bound, or none.
  [[nodiscard]] bool wants_rows() const {
    return is_missing() || fidelity == Fidelity::kScaled || fidelity == Fidelity::kBound;
  }
};

struct ModelSupport {
  std::string model;
  Engine engine = Engine::kTrtllm;
  Workers workers = {};  // that the engine can spread the model over, and those that it cannot
  std::vector<SupportedUse> uses = {};  // no two of one operator and shape

  [[nodiscard]] bool misses(const Worker& worker) const;
  [[nodiscard]] std::int64_t priced_workers() const;
  [[nodiscard]] std::int64_t missing_uses() const;
  [[nodiscard]] bool wants_rows() const;
};

struct SupportRequest {
  Engine engine = Engine::kTrtllm;
  std::string version = {};  // "": the one that files are for
  serving::Precision precision = {};
  std::int64_t most_gpus = 8;  // of a worker
};

// Asks the tables for every operator of every worker of at most `most_gpus` GPUs.
ModelSupport support_of(const serving::Model& model, const SupportRequest& request, Tables& tables);

// The operators of assay collect that measure what the workers miss or have scaled from fewer GPUs,
// and the numbers of GPUs, for its options --for-model and --tp. Empty where nothing is.
struct MissingMeasurements {
  std::vector<std::string> operators = {};
  std::vector<std::int64_t> gpus = {};
  std::vector<std::string> uncollected = {};  // uses that no operator of assay collect measures
};

MissingMeasurements measurements_for(const std::vector<const ModelSupport*>& engines_of_a_model);

}  // namespace assay::plan
