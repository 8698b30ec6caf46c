#include "plan/validate/picks.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace assay::plan {
namespace {

constexpr std::size_t kLeastCandidates = 4;
constexpr double kTolerated = 1.05;  // of the limit, on silicon

using Candidates = std::vector<const Prediction*>;

std::map<std::tuple<std::string, std::string, std::string, std::int64_t, std::int64_t>, Candidates>
groups_of(std::span<const Prediction> predictions) {
  std::map<std::tuple<std::string, std::string, std::string, std::int64_t, std::int64_t>,
           Candidates>
      groups;
  for (const Prediction& one : predictions) {
    if (!one.refused.empty() || one.calibrates) continue;
    const MeasuredDeployment& m = *one.measured;
    groups[{slice_of(m), m.linear, m.experts, m.prompt_tokens, m.output_tokens}].push_back(&one);
  }
  return groups;
}

// Requests that end in a millisecond, for each GPU: as many as are in flight, over their time.
double rate(const MeasuredDeployment& measured, double ttft_ms, double tpot_ms) {
  const double request_ms = ttft_ms + static_cast<double>(measured.output_tokens - 1) * tpot_ms;
  return static_cast<double>(measured.concurrency) / static_cast<double>(measured.gpus()) /
         request_ms;
}

double predicted_rate(const Prediction* one) {
  return rate(*one->measured, one->ttft_ms, one->tpot_ms);
}

double measured_rate(const Prediction* one) {
  return rate(*one->measured, one->measured->ttft_ms, one->measured->tpot_ms);
}

bool slower_predicted(const Prediction* a, const Prediction* b) {
  return predicted_rate(a) < predicted_rate(b);
}

bool slower_measured(const Prediction* a, const Prediction* b) {
  return measured_rate(a) < measured_rate(b);
}

PickCounts decide(const Candidates& candidates, double limit_ms, const PickRule& rule) {
  Candidates expected;
  Candidates real;
  for (const Prediction* one : candidates) {
    const double factor = rule.confidence ? one->bars.tpot.at_most(*rule.confidence) : 1;
    if (factor * one->tpot_ms <= limit_ms) expected.push_back(one);
    if (one->measured->tpot_ms <= limit_ms) real.push_back(one);
  }
  if (expected.empty() && real.empty()) return {};
  if (expected.empty()) return {.decisions = 1, .missed = 1};
  const Prediction* pick = *std::max_element(expected.begin(), expected.end(), slower_predicted);
  const double took = pick->measured->tpot_ms / limit_ms;
  if (took > kTolerated) return {.decisions = 1, .broken = 1, .overshoots = {took - 1}};
  PickCounts kept{.decisions = 1};
  if (real.empty()) return kept;
  const Prediction* best = *std::max_element(real.begin(), real.end(), slower_measured);
  kept.lost.push_back(std::max(0.0, 1 - measured_rate(pick) / measured_rate(best)));
  return kept;
}

std::vector<double> limits_for(const Candidates& candidates, const PickRule& rule) {
  if (!rule.tpot_limits_ms.empty()) return rule.tpot_limits_ms;
  std::set<double> measured;
  for (const Prediction* one : candidates)
    measured.insert(one->measured->tpot_ms);
  return {measured.begin(), measured.end()};
}

}  // namespace

void PickCounts::add(const PickCounts& other) {
  decisions += other.decisions;
  broken += other.broken;
  missed += other.missed;
  overshoots.insert(overshoots.end(), other.overshoots.begin(), other.overshoots.end());
  lost.insert(lost.end(), other.lost.begin(), other.lost.end());
}

const std::vector<double>& usual_tpot_limits() {
  static const std::vector<double> limits = {8, 10, 15, 20, 30, 50};
  return limits;
}

std::map<std::string, PickCounts> judge_picks(std::span<const Prediction> predictions,
                                              const PickRule& rule) {
  std::map<std::string, PickCounts> slices;
  for (const auto& [key, candidates] : groups_of(predictions)) {
    if (candidates.size() < kLeastCandidates) continue;
    PickCounts& slice = slices[std::get<0>(key)];
    for (const double limit_ms : limits_for(candidates, rule))
      slice.add(decide(candidates, limit_ms, rule));
  }
  return slices;
}

PickCounts sum_of(const std::map<std::string, PickCounts>& slices) {
  PickCounts all;
  for (const auto& [name, slice] : slices)
    all.add(slice);
  return all;
}

}  // namespace assay::plan
