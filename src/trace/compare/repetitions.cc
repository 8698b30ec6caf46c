#include "trace/compare/repetitions.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/statistics.h"

namespace assay::trace {
namespace {

std::map<int, std::vector<double>> by_run(std::span<const RunValue> values) {
  std::map<int, std::vector<double>> runs;
  for (const RunValue& value : values)
    runs[value.run].push_back(value.value);
  return runs;
}

}  // namespace

Repetition repetition(std::size_t baseline_runs, std::size_t test_runs, Repetition within) {
  const auto [fewest, most] = std::minmax(baseline_runs, test_runs);
  if (most <= 1) return within;
  return fewest <= 1 ? Repetition::kLoneRun : Repetition::kRun;
}

Repetition repetition(const Sides& sides, Repetition within) {
  return repetition(sides.baseline.runs.size(), sides.test.runs.size(), within);
}

bool counts_runs(Repetition repetition) {
  return repetition == Repetition::kRun || repetition == Repetition::kLoneRun;
}

Criterion with_evidence(const Criterion& criterion, Repetition repetition) {
  Criterion result = criterion;
  result.evidence = repetition == Repetition::kRun       ? Evidence::kRuns
                    : repetition == Repetition::kLoneRun ? Evidence::kLoneRun
                                                         : Evidence::kOneRun;
  return result;
}

std::string run_name(const std::string& label, int run) {
  return run == 0 ? label : fmt::format("{}/repeat{}", label, run);
}

std::string run_name(const Configuration& side, int run) {
  return run_name(side.label, run);
}

const char* noun(Repetition repetition) {
  switch (repetition) {
    case Repetition::kRun:
    case Repetition::kLoneRun:
      return "run";
    case Repetition::kInstance:
      return "instance";
    case Repetition::kStep:
    case Repetition::kNone:
      break;
  }
  return "step";
}

std::string counted(std::size_t count, Repetition repetition) {
  return fmt::format("{} {}{}", count, noun(repetition), count == 1 ? "" : "s");
}

std::int64_t repetition_count(std::size_t values, Repetition repetition) {
  return repetition == Repetition::kNone ? 0 : static_cast<std::int64_t>(values);
}

std::vector<double> repetitions(std::span<const RunValue> values, Repetition repetition) {
  std::vector<double> result;
  if (counts_runs(repetition)) {
    for (const auto& [run, measured] : by_run(values))
      result.push_back(core::mean(measured));
    return result;
  }
  result.reserve(values.size());
  for (const RunValue& value : values)
    result.push_back(value.value);
  return result;
}

std::vector<double> run_sums(std::span<const RunValue> values) {
  std::vector<double> sums;
  for (const auto& [run, measured] : by_run(values))
    sums.push_back(core::sum(measured));
  return sums;
}

RunTotals run_totals(std::span<const RunValue> values, std::size_t runs) {
  if (values.empty()) return {};
  std::vector<double> counts;
  for (const auto& [run, measured] : by_run(values))
    counts.push_back(static_cast<double>(measured.size()));
  return {.sum = core::mean(run_sums(values)),
          .count = core::mean(counts),
          .even = counts.size() == runs && core::minimum(counts) == core::maximum(counts)};
}

Change total_change(const RunTotals& baseline, const RunTotals& test) {
  Change change = single_change(baseline.sum, test.sum, model::Better::kLower);
  if (!baseline.even || !test.even || baseline.count != test.count)
    change.difference = change.percent = change.ratio = std::nan("");
  return change;
}

std::string range_in_words(const Range& range, const char* unit, std::size_t runs, int digits) {
  return fmt::format("{:.{}f} … {:.{}f} {} over {}", range.low, digits, range.high, digits, unit,
                     counted(runs, Repetition::kRun));
}

}  // namespace assay::trace
