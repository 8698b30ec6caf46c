// The time of a step of a model in a deployment: the sum of its operators, each priced for the
// tokens that it gets in this step.
//
// Operators that prompts and decoding both have (projections, experts, all-reduces, norms, logits)
// run once for the tokens of both; attention, and what only one of the two has, runs for its own.
//
// Where the deployment has speculative tokens, each request that decodes has these beside its next
// one, and then drafts others (serving::draft_uses_of).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/model.h"
#include "model/serving/uses.h"
#include "plan/price/operator_price.h"
#include "plan/step.h"

namespace assay::plan {

// An operator's part of a step.
struct OperatorCost {
  const OperatorPrice* price = nullptr;
  Price cost;
  Amounts amounts = {};  // of which price->work() tells what is moved and computed
  std::optional<OperatorPower> power = std::nullopt;  // where add_power() knows it
};

// Fills in the power of each where it is known.
void add_power(std::vector<OperatorCost>& costs);

class StepPrices final : public StepCost {
 public:
  // Error: check_deployment() refuses, or no table answers for an operator.
  static core::Result<StepPrices> bind(const serving::Model& model,
                                       const serving::Deployment& deployment,
                                       Tables& tables);

  // `glue_ms`: what a step takes beyond its operators.
  void set_glue_ms(double glue_ms) { glue_ms_ = glue_ms; }

  [[nodiscard]] double ms(const Step& step) const override;

  // The part of the logits in it.
  [[nodiscard]] double logits_of(const Step& step) const { return logits_ms(logits_rows(step)); }

  // The operators of the step, of each kind in the order of a layer.
  [[nodiscard]] std::vector<OperatorCost> operators(const Step& step) const;

  // The same with the power of a GPU while each of them runs, where that is known.
  [[nodiscard]] std::vector<OperatorCost> powered_operators(const Step& step) const;

 private:
  StepPrices() = default;

  // A memory of prices by token count; NaN: not asked yet.
  using Known = std::vector<double>;

  // What runs for requests and the tokens that each has in the cache.
  struct ByCache {
    std::vector<OperatorPrice> prices;
    std::int64_t tokens_each = 1;           // that it computes of a request
    mutable std::vector<Known> known = {};  // by requests, then by node of tokens in the cache
  };

  [[nodiscard]] double shared_ms(std::int64_t tokens) const;
  [[nodiscard]] double experts_ms(std::int64_t tokens) const;
  [[nodiscard]] double logits_ms(std::int64_t rows) const;
  [[nodiscard]] double prompt_ms(const Chunks& chunks) const;
  [[nodiscard]] double prompt_ms_at(const Chunks& chunks) const;
  [[nodiscard]] double by_cache_ms(const ByCache& part, std::int64_t requests, double cached) const;
  [[nodiscard]] double by_cache_ms_at(const ByCache& part,
                                      std::int64_t requests,
                                      std::size_t node) const;
  [[nodiscard]] Amounts amounts_of_cache(const ByCache& part, double requests, double cached) const;

  [[nodiscard]] std::int64_t tokens_of(const Step& step) const {
    return step.prompt_tokens() + step.decodes * decodes_.tokens_each;
  }

  // Returns the tokens of all groups that share the experts.
  [[nodiscard]] double expert_tokens_of(const Step& step) const {
    const double of_group =
        step.group_tokens > 0 ? step.group_tokens : static_cast<double>(tokens_of(step));
    return groups_ * of_group;
  }

  [[nodiscard]] std::int64_t logits_rows(const Step& step) const {
    return step.finished_prompts + step.decodes * decodes_.tokens_each;
  }

  std::vector<OperatorPrice> shared_;           // by tokens; experts by those of all groups
  std::vector<OperatorPrice> logits_;           // by requests
  std::vector<OperatorPrice> prompts_;          // only prompts have them
  std::vector<OperatorPrice> chunked_prompts_;  // the same, of attention to chunks
  ByCache decodes_;                             // only decoding has them
  ByCache chunked_decodes_;       // the same, of attention to chunks, by the keys in these
  ByCache drafts_;                // of requests that decode, and whose prompt ends
  std::int64_t chunk_ = 0;        // tokens of it
  std::int64_t most_tokens_ = 0;  // that a request may have; 0: not known
  double groups_ = 1;             // that send tokens to the same experts
  double glue_ms_ = 0;
  mutable Known shared_known_;
  mutable Known experts_known_;
  mutable Known logits_known_;
  mutable Known whole_prompts_known_;  // of one request

  struct KnownPrompt {
    Chunks chunks;
    double ms = 0;
  };

  mutable std::vector<KnownPrompt> prompts_known_;
};

}  // namespace assay::plan
