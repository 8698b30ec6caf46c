#include "model/serving/needs.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace assay::serving {
namespace {

// How many GPUs share the experts, and how.
struct ExpertSharing {
  std::int64_t tp = 1;
  std::int64_t moe_tp = 1;
  std::int64_t moe_ep = 1;

  auto operator<=>(const ExpertSharing& other) const = default;
};

// Groups of one GPU with requests of their own share experts, too: as many as any tp asked for.
void add_divisions(std::int64_t tp, std::int64_t gpus, std::set<ExpertSharing>& found) {
  for (std::int64_t ep = 1; ep <= gpus; ++ep) {
    if (gpus % ep == 0) found.insert({tp, gpus / ep, ep});
  }
}

void add_given(std::int64_t tp, std::int64_t ep, std::set<ExpertSharing>& found) {
  if (tp % ep == 0) found.insert({tp, tp / ep, ep});
  if (ep % tp == 0) found.insert({tp, 1, ep});
}

std::set<ExpertSharing> sharings_of(const NeedsRequest& request) {
  std::set<ExpertSharing> found;
  for (const std::int64_t tp : request.tp) {
    for (const std::int64_t ep : request.ep)
      add_given(tp, ep, found);
    if (!request.ep.empty()) continue;
    add_divisions(tp, tp, found);
    if (std::find(request.tp.begin(), request.tp.end(), 1) != request.tp.end())
      add_divisions(1, tp, found);
  }
  return found;
}

std::set<ExpertSharing> dense_sharings(const NeedsRequest& request) {
  std::set<ExpertSharing> found;
  for (const std::int64_t tp : request.tp)
    found.insert({tp, 1, 1});
  return found;
}

std::vector<Precision> precisions_of(const Precision& weights) {
  std::vector<Precision> all = {weights};
  if (weights == Precision{}) return all;
  Precision cached = weights;
  cached.cache = Quantization::kFp8;
  all.push_back(cached);
  if (weights.linear == Quantization::kBfloat16) return all;
  cached.attention = Quantization::kFp8;
  all.push_back(cached);
  return all;
}

std::vector<Precision> precisions_of(const Model& model, const NeedsRequest& request) {
  std::vector<Precision> all;
  for (const auto& quantization : request.quantizations) {
    const Precision weights = quantization ? weights_of(*quantization) : model.precision;
    for (const Precision& precision : precisions_of(weights)) {
      if (std::find(all.begin(), all.end(), precision) == all.end()) all.push_back(precision);
    }
  }
  return all;
}

bool spans_heads(const Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const EqualLayers& equal) {
    const auto* attention = std::get_if<Attention>(&equal.layer.mixer);
    return attention != nullptr && attention->norm_spans_heads;
  });
}

Deployment gathering(Deployment deployment) {
  deployment.head_norm = HeadNorm::kGathered;
  return deployment;
}

std::string text_of(const Deployment& deployment) {
  std::string text = fmt::format("tp {}", deployment.tp);
  if (deployment.moe_tp > 1) text += fmt::format(", moe_tp {}", deployment.moe_tp);
  if (deployment.moe_ep > 1) text += fmt::format(", ep {}", deployment.moe_ep);
  return fmt::format("{}, {}", text, name_of(quantization_of(deployment.precision)));
}

class Collected {
 public:
  [[nodiscard]] Needs made() && { return std::move(needs_); }

  void add(const Model& model, const Deployment& deployment, const std::vector<Phase>& phases) {
    if (const core::Status good = check_deployment(model, deployment); !good.ok()) {
      exclude(model, deployment, good.error().message);
      return;
    }
    for (const Phase phase : phases) {
      for (const OperatorUse& use : uses_of(model, deployment, phase))
        add(use, model.name);
      if (phase != Phase::kGeneration) continue;
      for (const OperatorUse& use : draft_uses_of(model, deployment))
        add(use, model.name);
    }
  }

 private:
  void exclude(const Model& model, const Deployment& deployment, const std::string& reason) {
    Excluded excluded{model.name, text_of(deployment), reason};
    const bool is_known =
        std::any_of(needs_.excluded.begin(), needs_.excluded.end(), [&](const Excluded& known) {
          return known.model == excluded.model && known.deployment == excluded.deployment;
        });
    if (!is_known) needs_.excluded.push_back(std::move(excluded));
  }

  void add(const OperatorUse& use, const std::string& model) {
    const auto [at, is_new] = place_of_.emplace(key_text(use), needs_.needs.size());
    if (is_new) needs_.needs.push_back({.use = use, .models = {}});
    Need& need = needs_.needs[at->second];
    keep_largest(need.use.sizes, use.sizes);
    std::vector<std::string>& models = need.models;
    if (std::find(models.begin(), models.end(), model) == models.end()) models.push_back(model);
  }

  // Norms of heads have as many rows for each token as there are heads, which no column tells.
  static void keep_largest(std::vector<SizeField>& sizes, const std::vector<SizeField>& others) {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      sizes[i].factor = std::max(sizes[i].factor, others[i].factor);
  }

  static std::string key_text(const OperatorUse& use) {
    std::string text = use.op + ' ' + use.op_name;
    for (const model::PerfField& field : use.key) {
      text += ' ' + field.column + '=';
      std::visit([&](const auto& value) { text += fmt::format("{}", value); }, field.value);
    }
    return text;
  }

  Needs needs_;
  std::map<std::string, std::size_t> place_of_;
};

}  // namespace

Needs needs_of(const NeedsRequest& request) {
  Collected collected;
  for (const Model& model : request.models) {
    const auto sharings = model.has_experts() ? sharings_of(request) : dense_sharings(request);
    for (const Precision& precision : precisions_of(model, request)) {
      for (const ExpertSharing& sharing : sharings) {
        for (const std::string& distribution : {std::string("balanced"), model.skew}) {
          const Deployment deployment{.tp = sharing.tp,
                                      .moe_tp = sharing.moe_tp,
                                      .moe_ep = sharing.moe_ep,
                                      .precision = precision,
                                      .distribution = distribution};
          collected.add(model, deployment, request.phases);
          if (spans_heads(model)) collected.add(model, gathering(deployment), request.phases);
          if (request.speculative_tokens == 0 || !model.mtp) continue;
          Deployment drafting = deployment;
          drafting.speculative_tokens = request.speculative_tokens;
          collected.add(model, drafting, request.phases);
        }
      }
    }
  }
  return std::move(collected).made();
}

}  // namespace assay::serving
