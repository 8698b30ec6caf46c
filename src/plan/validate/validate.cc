#include "plan/validate/validate.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "plan/closed_form.h"
#include "plan/price/staged_cost.h"
#include "plan/price/step_prices.h"
#include "plan/serve.h"
#include "plan/validate/disaggregated_row.h"
#include "plan/validate/measured_stages.h"

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
  Predictor(const ValidationInputs& inputs, const AssumedClients& clients)
      : inputs_(inputs), clients_(clients), of_calibrated_(clients) {
    of_calibrated_.client_ms = 0;
  }

  // A calibration's factor on TTFT was found without the usual time of clients, for which it stands
  // with all else that is in TTFT.
  Prediction predict_calibrated(const MeasuredDeployment& measured,
                                const Calibration& calibration) {
    return predict(measured, calibration, of_calibrated_);
  }

  Prediction predict(const MeasuredDeployment& measured) { return predict(measured, {}, clients_); }

 private:
  Prediction predict(const MeasuredDeployment& measured,
                     const Calibration& calibration,
                     const AssumedClients& clients) {
    Prediction prediction{.measured = &measured, .calibration = calibration};
    prediction.refused = missing_field(measured);
    prediction.lacks_fields = !prediction.refused.empty();
    if (prediction.lacks_fields) return prediction;
    if (core::Status done = fill(measured, clients, prediction); !done.ok())
      prediction.refused = done.error().message;
    return prediction;
  }

  core::Status fill(const MeasuredDeployment& measured,
                    const AssumedClients& clients,
                    Prediction& prediction) {
    if (measured.is_disaggregated)
      return predict_disaggregated(measured, inputs_, clients, prediction);
    const BoundWorker& bound = *ASSAY_TRY(bound_of(measured));
    const std::int64_t batches = bound.worker.batches();
    const SteadyLoad load{
        .concurrency = std::max<std::int64_t>(1, measured.concurrency / batches),
        .groups = batches,
        .groups_of_experts = bound.worker.groups,
        .prompt_tokens = measured.prompt_tokens,
        .output_tokens = measured.output_tokens,
        .cached_prefix = bound.worker.kept.finds_prefixes
                             ? std::min(measured.prefix_tokens, measured.prompt_tokens - 1)
                             : 0,
        .speculation = measured.speculation};
    prediction.parts = parts_of_load(costs_of_load(bound.prices, load));
    if (clients.scheduler == Scheduler::kSimulation)
      return fill_simulated(measured, bound, clients, prediction);
    const StagedCost staged(bound.prices, bound.pipeline);
    const CalibratedCost cost(staged, prediction.calibration);
    const SteadyLatencies found = steady_latencies(cost, load);
    prediction.ttft_ms = prediction.calibration.ttft_factor * (found.ttft_ms + clients.client_ms);
    prediction.tpot_ms = found.tpot_ms;
    return {};
  }

  core::Status fill_simulated(const MeasuredDeployment& measured,
                              const BoundWorker& bound,
                              const AssumedClients& clients,
                              Prediction& prediction) const {
    ServedWorker worker = bound.worker;
    if (measured.has_one_prompt_a_step) {
      worker.max_tokens =
          one_prompt_beside(measured.concurrency / worker.batches() * worker.speculation.verified(),
                            measured.prompt_tokens);
    }
    if (measured.step_tokens > 0) worker.max_tokens = measured.step_tokens;
    const ClosedLoop load{
        .concurrency = measured.concurrency,
        .prompt_tokens = measured.prompt_tokens,
        .output_tokens = measured.output_tokens,
        .least_length = clients.least_length > 0 ? clients.least_length : measured.least_length,
        .requests_each = clients.requests_each,
        .prefix_tokens = std::min(measured.prefix_tokens, measured.prompt_tokens - 1),
        .client_ms = clients.client_ms};
    const StagedCost staged(bound.prices, bound.pipeline);
    const CalibratedCost cost(staged, prediction.calibration);
    const ServingMetrics metrics = ASSAY_TRY(serve(*bound.model, worker, cost, load));
    prediction.ttft_ms = prediction.calibration.ttft_factor * metrics.ttft_ms.mean;
    prediction.tpot_ms = metrics.tpot_ms.mean;
    return {};
  }

  // Rows that differ in their load alone share prices.
  using Key = std::tuple<std::string,
                         std::string,
                         std::string,
                         std::string,
                         std::string,
                         std::string,
                         std::string,
                         std::int64_t,
                         std::int64_t,
                         std::int64_t,
                         std::int64_t,
                         std::int64_t,
                         std::vector<double>>;

  core::Result<const BoundWorker*> bound_of(const MeasuredDeployment& measured) {
    const MeasuredWidths& widths = measured.widths;
    const Key key{measured.engine,
                  measured.version,
                  measured.system,
                  measured.model,
                  measured.linear,
                  measured.experts,
                  measured.cache,
                  widths.tp,
                  widths.dp,
                  widths.pp,
                  widths.moe_tp,
                  widths.moe_ep,
                  measured.speculation.accepted};
    auto known = known_.find(key);
    if (known == known_.end())
      known = known_.emplace(key, bind_worker(measured, measured.system, widths, inputs_)).first;
    if (!known->second.ok()) return known->second.error();
    return &known->second.value();
  }

  const ValidationInputs& inputs_;
  const AssumedClients& clients_;
  AssumedClients of_calibrated_;
  std::map<Key, core::Result<BoundWorker>> known_;
};

struct Slice {
  std::vector<const MeasuredDeployment*> rows = {};
  std::vector<const MeasuredDeployment*> by = {};  // that calibrate it
};

// At most so many of them, from the first to the last.
std::vector<const MeasuredDeployment*> spread_over(
    const std::vector<const MeasuredDeployment*>& rows, std::size_t most) {
  if (rows.size() <= most) return rows;
  if (most == 1) return {rows[rows.size() / 2]};
  std::vector<const MeasuredDeployment*> some;
  for (std::size_t i = 0; i < most; ++i)
    some.push_back(rows[i * (rows.size() - 1) / (most - 1)]);
  return some;
}

// Rows of one number of GPUs and one pair of lengths, at different loads: what somebody measures
// within an hour.
void choose_calibrating(Slice& slice, std::size_t most) {
  using Group = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  std::map<Group, std::vector<const MeasuredDeployment*>> groups;
  for (const MeasuredDeployment* row : slice.rows)
    groups[{row->widths.gpus(), row->prompt_tokens, row->output_tokens}].push_back(row);
  const auto largest = std::max_element(
      groups.begin(), groups.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  slice.by = largest->second;
  std::stable_sort(slice.by.begin(), slice.by.end(),
                   [](const auto* a, const auto* b) { return a->concurrency < b->concurrency; });
  slice.by = spread_over(slice.by, most);
}

std::map<std::string, Slice> slices_of(const std::vector<MeasuredDeployment>& measured,
                                       std::size_t calibrated_by) {
  std::map<std::string, Slice> slices;
  for (const MeasuredDeployment& row : measured)
    if (!row.is_copy) slices[slice_of(row)].rows.push_back(&row);
  for (auto& [name, slice] : slices) {
    const bool is_disaggregated = slice.rows.front()->is_disaggregated;
    if (calibrated_by > 0 && !is_disaggregated) choose_calibrating(slice, calibrated_by);
  }
  return slices;
}

core::Result<FittedCalibration> fit_rows(const std::vector<const MeasuredDeployment*>& rows,
                                         Predictor& predictor) {
  std::vector<CalibrationPoint> points;
  for (const MeasuredDeployment* row : rows) {
    const auto predict =
        [row, &predictor](const Calibration& calibration) -> core::Result<MeasuredLatencies> {
      const Prediction found = predictor.predict_calibrated(*row, calibration);
      if (!found.refused.empty()) return core::Error{found.refused};
      return MeasuredLatencies{.ttft_ms = found.ttft_ms, .tpot_ms = found.tpot_ms};
    };
    points.push_back(
        {.measured = {.ttft_ms = row->ttft_ms, .tpot_ms = row->tpot_ms}, .predict = predict});
  }
  return fit_calibration(points);
}

// "" if the row can tell a calibration.
std::string why_not_calibrating(const MeasuredDeployment& row, Predictor& predictor) {
  if (row.is_disaggregated) return "calibrations are of aggregated deployments";
  if (!(row.ttft_ms > 0 && row.tpot_ms > 0)) return "the row does not tell TTFT and TPOT";
  return predictor.predict(row).refused;
}

// Without points where rows have no prediction.
FittedCalibration calibration_of(const Slice& slice, Predictor& predictor) {
  const core::Result<FittedCalibration> fitted = fit_rows(slice.by, predictor);
  return fitted.ok() ? fitted.value() : FittedCalibration();
}

Prediction with_bars(Predictor& predictor,
                     const MeasuredDeployment& measured,
                     const FittedCalibration& fitted) {
  const std::optional<CalibrationErrors> errors = errors_of(fitted);
  Prediction made = errors ? predictor.predict_calibrated(measured, fitted.calibration)
                           : predictor.predict(measured);
  made.sigmas = own_sigmas(made.parts, errors);
  made.bars = latency_bars(made.parts, errors);
  return made;
}

const CalibrationEntry* known_calibration(const MeasuredDeployment& row,
                                          const AssumedClients& clients) {
  if (row.is_disaggregated) return nullptr;
  return find_calibration(clients.calibrations, {row.engine, row.version, row.model, row.system});
}

bool tells(const CalibrationEntry& entry, const MeasuredDeployment& row) {
  return std::find(entry.rows.begin(), entry.rows.end(), row.id) != entry.rows.end();
}

}  // namespace

double Prediction::rate_error() const {
  const auto further = static_cast<double>(measured->output_tokens - 1);
  return (measured->ttft_ms + further * measured->tpot_ms) / (ttft_ms + further * tpot_ms) - 1;
}

std::string slice_of(const MeasuredDeployment& measured) {
  return fmt::format("{} {} {} {}{}", measured.engine,
                     measured.version.empty() ? "-" : measured.version, measured.model,
                     measured.system, measured.is_disaggregated ? " disaggregated" : "");
}

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
                                const ValidationInputs& inputs,
                                const AssumedClients& clients) {
  Predictor predictor(inputs, clients);
  const std::map<std::string, Slice> slices = slices_of(measured, clients.calibrated_by);
  std::map<std::string, FittedCalibration> calibrations;
  for (const auto& [name, slice] : slices) {
    if (!slice.by.empty()) calibrations[name] = calibration_of(slice, predictor);
  }
  std::vector<Prediction> predictions;
  for (const MeasuredDeployment& one : measured) {
    const std::string name = slice_of(one);
    const auto fitted = calibrations.find(name);
    if (fitted != calibrations.end()) {
      const auto& by = slices.at(name).by;
      predictions.push_back(with_bars(predictor, one, fitted->second));
      predictions.back().calibrates = std::find(by.begin(), by.end(), &one) != by.end();
      continue;
    }
    const CalibrationEntry* entry = known_calibration(one, clients);
    predictions.push_back(
        with_bars(predictor, one, entry == nullptr ? FittedCalibration() : entry->fitted));
    predictions.back().calibrates = entry != nullptr && tells(*entry, one);
  }
  return predictions;
}

core::Result<FoundCalibrations> calibrate(const std::vector<MeasuredDeployment>& measured,
                                          const ValidationInputs& inputs,
                                          const AssumedClients& clients) {
  Predictor predictor(inputs, clients);
  FoundCalibrations found;
  for (const auto& [name, slice] : slices_of(measured, 0)) {
    std::vector<const MeasuredDeployment*> rows;
    for (const MeasuredDeployment* row : slice.rows) {
      const std::string why = why_not_calibrating(*row, predictor);
      if (why.empty()) {
        rows.push_back(row);
      } else {
        ++found.left_out[why];
      }
    }
    if (rows.empty()) continue;
    const MeasuredDeployment& one = *rows.front();
    found.entries.push_back(
        {one.engine, one.version, one.model, one.system, ASSAY_TRY(fit_rows(rows, predictor))});
    for (const MeasuredDeployment* row : rows)
      found.entries.back().rows.push_back(row->id);
  }
  if (found.entries.empty()) {
    return core::Error{"no row can be calibrated by: " +
                       (found.left_out.empty() ? "there is none" : found.left_out.begin()->first)};
  }
  return found;
}

}  // namespace assay::plan
