#include "plan/validate/validate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "plan/closed_form.h"
#include "plan/price/step_prices.h"

namespace assay::plan {
namespace {

using serving::Precision;
using serving::Quantization;

core::Result<Quantization> quantization_of_name(const std::string& name) {
  if (name.empty()) return Quantization::kBfloat16;
  const std::optional<Quantization> found = serving::quantization_named(name);
  if (!found) return core::Error{fmt::format("quantization '{}' is not known", name)};
  return *found;
}

class Predictor {
 public:
  explicit Predictor(const ValidationInputs& inputs) : inputs_(inputs) {}

  Prediction predict(const MeasuredDeployment& measured) {
    Prediction prediction{.measured = &measured};
    if (core::Status done = fill(measured, prediction); !done.ok())
      prediction.refused = done.error().message;
    return prediction;
  }

 private:
  core::Status fill(const MeasuredDeployment& measured, Prediction& prediction) {
    if (measured.is_disaggregated)
      return core::Error{"disaggregated deployments have no price yet"};
    if (measured.concurrency == 0) return core::Error{"the row does not tell its concurrency"};
    if (measured.widths.pp != 1) return core::Error{"pipeline stages have no price yet"};
    const StepPrices& prices = *ASSAY_TRY(prices_of(measured));
    const SteadyLatencies found = steady_latencies(
        prices,
        {.concurrency = std::max<std::int64_t>(1, measured.concurrency / measured.widths.dp),
         .prompt_tokens = measured.prompt_tokens,
         .output_tokens = measured.output_tokens});
    prediction.ttft_ms = found.ttft_ms;
    prediction.tpot_ms = found.tpot_ms;
    return {};
  }

  using Key = std::tuple<std::string,
                         std::string,
                         std::string,
                         std::string,
                         std::string,
                         std::string,
                         std::int64_t,
                         std::int64_t,
                         std::int64_t>;

  core::Result<const StepPrices*> prices_of(const MeasuredDeployment& measured) {
    const MeasuredWidths& widths = measured.widths;
    const Key key{measured.engine, measured.version, measured.system,
                  measured.model,  measured.linear,  measured.experts,
                  widths.tp,       widths.moe_tp,    widths.moe_ep};
    if (const auto known = known_.find(key); known != known_.end()) {
      if (known->second.index() == 1) return core::Error{std::get<1>(known->second)};
      return &std::get<0>(known->second);
    }
    auto bound = bind(measured);
    if (!bound.ok()) {
      known_.emplace(key, bound.error().message);
      return bound.error();
    }
    const auto place = known_.emplace(key, std::move(bound).value()).first;
    return &std::get<0>(place->second);
  }

  core::Result<StepPrices> bind(const MeasuredDeployment& measured) {
    const std::optional<Engine> engine = engine_named(measured.engine);
    if (!engine) return core::Error{fmt::format("engine '{}' is not known", measured.engine)};
    const serving::Model& model = *ASSAY_TRY(inputs_.model(measured.model));
    Tables& tables = *ASSAY_TRY(inputs_.tables(measured.system, *engine, measured.version));
    const serving::Deployment deployment{
        .tp = measured.widths.tp,
        .moe_tp = measured.widths.moe_tp,
        .moe_ep = measured.widths.moe_ep,
        .precision = served_precision(*engine, ASSAY_TRY(precision_of(model, measured))),
        .distribution = model.skew};
    return StepPrices::bind(model, deployment, tables);
  }

  const ValidationInputs& inputs_;
  std::map<Key, std::variant<StepPrices, std::string>> known_;
};

}  // namespace

core::Result<Precision> precision_of(const serving::Model& model,
                                     const MeasuredDeployment& measured) {
  Precision precision = model.precision;
  if (precision == Precision{}) {
    precision.linear = ASSAY_TRY(quantization_of_name(measured.linear));
    precision.experts = ASSAY_TRY(quantization_of_name(measured.experts));
  }
  return precision;
}

std::vector<Prediction> predict(const std::vector<MeasuredDeployment>& measured,
                                const ValidationInputs& inputs) {
  Predictor predictor(inputs);
  std::vector<Prediction> predictions;
  for (const MeasuredDeployment& one : measured)
    predictions.push_back(predictor.predict(one));
  return predictions;
}

}  // namespace assay::plan
