#include "plan/support/support.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "plan/price/operator_price.h"

namespace assay::plan {
namespace {

using serving::OperatorUse;
using serving::Phase;

// Asks each operator and shape once.
class Asked {
 public:
  explicit Asked(Tables& tables) : tables_(tables) {}

  void add(const OperatorUse& use, const Worker& worker) {
    const std::string key = fmt::format("{} {} {}", use.table, use.op_name, serving::key_text(use));
    const auto [place, is_new] = places_.emplace(key, uses_.size());
    if (is_new) uses_.push_back(priced(use));
    std::vector<Worker>& workers = uses_[place->second].workers;
    if (workers.empty() || !(workers.back() == worker)) workers.push_back(worker);
  }

  [[nodiscard]] std::vector<SupportedUse> uses() && { return std::move(uses_); }

 private:
  [[nodiscard]] SupportedUse priced(const OperatorUse& use) {
    SupportedUse made{.use = use};
    const core::Result<OperatorPrice> price = OperatorPrice::bind(use, tables_);
    if (price.ok()) {
      made.fidelity = price.value().fidelity();
      made.source = price.value().source();
      made.has_key = price.value().has_key();
    } else {
      made.why_missing = price.error().message;
    }
    return made;
  }

  Tables& tables_;
  std::map<std::string, std::size_t> places_;
  std::vector<SupportedUse> uses_;
};

// "gemm in nvfp4", "mamba2_scan"
std::string uncollected_name(const OperatorUse& use) {
  for (const char* column : {"gemm_dtype", "moe_dtype"}) {
    if (const model::PerfValue* type = serving::find_key(use, column))
      return fmt::format("{} in {}", use.op_name, std::get<std::string>(*type));
  }
  return use.op_name;
}

}  // namespace

bool ModelSupport::misses(const Worker& worker) const {
  return std::any_of(uses.begin(), uses.end(), [&](const SupportedUse& one) {
    return one.is_missing() &&
           std::find(one.workers.begin(), one.workers.end(), worker) != one.workers.end();
  });
}

std::int64_t ModelSupport::priced_workers() const {
  return std::count_if(workers.possible.begin(), workers.possible.end(),
                       [&](const Worker& worker) { return !misses(worker); });
}

std::int64_t ModelSupport::missing_uses() const {
  return std::count_if(uses.begin(), uses.end(),
                       [](const SupportedUse& one) { return one.is_missing(); });
}

bool ModelSupport::wants_rows() const {
  return std::any_of(uses.begin(), uses.end(),
                     [](const SupportedUse& one) { return one.wants_rows(); });
}

ModelSupport support_of(const serving::Model& model,
                        const SupportRequest& request,
                        Tables& tables) {
  ModelSupport support{
      .model = model.name,
      .engine = request.engine,
      .workers = workers_of(model, request.engine, request.precision, request.most_gpus)};
  Asked asked(tables);
  for (const Worker& worker : support.workers.possible) {
    serving::Deployment deployment = deployment_of(model, worker, request.precision);
    deployment.head_norm = head_norm_of(request.engine, request.version);
    for (const Phase phase : {Phase::kContext, Phase::kGeneration}) {
      for (const OperatorUse& use : uses_of(model, deployment, phase))
        asked.add(use, worker);
    }
  }
  support.uses = std::move(asked).uses();
  return support;
}

MissingMeasurements measurements_for(const std::vector<const ModelSupport*>& engines_of_a_model) {
  std::set<std::string> operators;
  std::set<std::string> uncollected;
  std::set<std::int64_t> gpus;
  for (const ModelSupport* support : engines_of_a_model) {
    for (const SupportedUse& one : support->uses) {
      if (!one.wants_rows()) continue;
      if (!serving::is_collected(one.use)) {
        uncollected.insert(uncollected_name(one.use));
        continue;
      }
      operators.insert(one.use.op);
      // Experts follow from all GPUs of a worker, everything else from those of a group.
      for (const Worker& worker : one.workers)
        gpus.insert({worker.tp, worker.gpus()});
    }
  }
  return {{operators.begin(), operators.end()},
          {gpus.begin(), gpus.end()},
          {uncollected.begin(), uncollected.end()}};
}

}  // namespace assay::plan
