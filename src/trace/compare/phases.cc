#include "trace/compare/phases.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/statistics.h"
#include "core/text.h"
#include "trace/compare/rows.h"
#include "trace/compare/step_states.h"
#include "trace/compare/timeline_samples.h"

namespace assay::trace {
namespace {

using model::Cell;
using model::cell_of;

// Batches of more sizes than this are told together only.
constexpr std::size_t kMostSizes = 32;
constexpr std::array kMeasures = {"time ms", "compute ms", "exposed comm ms", "idle ms"};

using PhaseKey = std::pair<std::string, std::optional<std::int64_t>>;
using Measures = std::array<double, kMeasures.size()>;

std::vector<RankStep> inference_steps(const Configuration& side) {
  std::vector<RankStep> steps;
  for (const RankReport& report : side.ranks) {
    const model::Table* table = report.book.find(kInferenceStepsSheet);
    for (std::size_t row = 0; table != nullptr && row < table->row_count(); ++row) {
      if (const auto step = step_number(*table, row))
        steps.push_back({.run = report.run, .rank = report.rank, .step = *step});
    }
  }
  return steps;
}

// The steps of one side by phase. A step is that of all ranks, with their mean.
class PhaseSteps {
 public:
  explicit PhaseSteps(const Configuration& side) {
    const StepSet shared = shared_steps(inference_steps(side));
    for (const RankReport& report : side.ranks)
      if (const model::Table* table = report.book.find(kInferenceStepsSheet))
        for (std::size_t row = 0; row < table->row_count(); ++row)
          if (shared.count({report.run, step_number(*table, row).value_or(-1)}) > 0)
            add(report, *table, row);
  }

  [[nodiscard]] std::set<PhaseKey> keys() const {
    std::set<PhaseKey> result;
    for (const auto& [step, ranks] : steps_) {
      result.emplace(std::get<0>(step), std::nullopt);
      if (std::get<1>(step) >= 0) result.emplace(std::get<0>(step), std::get<1>(step));
    }
    return result;
  }

  [[nodiscard]] std::vector<RunValue> values(const PhaseKey& key, std::size_t measure) const {
    std::vector<RunValue> result;
    for (const auto& [step, ranks] : steps_) {
      if (std::get<0>(step) != key.first || (key.second && std::get<1>(step) != *key.second))
        continue;
      std::vector<double> own;
      for (const Measures& rank : ranks)
        if (std::isfinite(rank[measure])) own.push_back(rank[measure]);
      if (!own.empty()) result.push_back({.run = std::get<2>(step), .value = core::mean(own)});
    }
    return result;
  }

  [[nodiscard]] PhaseParts parts(const PhaseKey& key) const {
    return {.compute_ms = mean(key, 1), .exposed_comm_ms = mean(key, 2), .idle_ms = mean(key, 3)};
  }

 private:
  // Phase, batch size (-1: not told), run and number.
  using StepKey = std::tuple<std::string, std::int64_t, int, std::int64_t>;

  void add(const RankReport& report, const model::Table& table, std::size_t row) {
    const auto number = step_number(table, row);
    const auto phase = table.column("phase");
    if (!number || !phase) return;
    const double requests = number_at(table, row, "batch size");
    const std::int64_t size =
        requests >= 0 && requests < 1e9 ? static_cast<std::int64_t>(requests) : -1;
    Measures measures{};
    for (std::size_t i = 0; i < kMeasures.size(); ++i)
      measures[i] = number_at(table, row, kMeasures[i]);
    steps_[{model::text(table.at(row, *phase)), size, report.run, *number}].push_back(measures);
  }

  [[nodiscard]] double mean(const PhaseKey& key, std::size_t measure) const {
    return core::mean(repetitions(values(key, measure), Repetition::kRun));
  }

  std::map<StepKey, std::vector<Measures>> steps_;
};

// A phase of one batch size is told once.
std::vector<PhaseKey> told_keys(const std::set<PhaseKey>& keys) {
  std::map<std::string, std::size_t> sizes;
  for (const PhaseKey& key : keys)
    if (key.second) ++sizes[key.first];
  std::vector<PhaseKey> result;
  for (const PhaseKey& key : keys) {
    const std::size_t count = sizes[key.first];
    if (!key.second || (count > 1 && count <= kMostSizes)) result.push_back(key);
  }
  return result;
}

bool differs(const Change& change) {
  return change.verdict == Verdict::kBetter || change.verdict == Verdict::kWorse ||
         change.verdict == Verdict::kDifferent;
}

}  // namespace

std::vector<PhaseChange> compare_phases(const Sides& sides) {
  const PhaseSteps baseline(sides.baseline);
  const PhaseSteps test(sides.test);
  std::set<PhaseKey> keys = baseline.keys();
  keys.merge(test.keys());
  const Repetition counted = repetition(sides, Repetition::kStep);
  const Criterion criterion = with_evidence(sides.options.criterion, counted);
  std::vector<PhaseChange> changes;
  for (const PhaseKey& key : told_keys(keys)) {
    const std::vector<RunValue> a = baseline.values(key, 0);
    const std::vector<RunValue> b = test.values(key, 0);
    changes.push_back({.phase = key.first,
                       .requests = key.second,
                       .baseline_steps = a.size(),
                       .test_steps = b.size(),
                       .time_ms = measure_change(repetitions(a, counted), repetitions(b, counted),
                                                 model::Better::kLower, criterion),
                       .baseline = baseline.parts(key),
                       .test = test.parts(key)});
  }
  std::vector<Change*> family;
  for (PhaseChange& change : changes)
    family.push_back(&change.time_ms);
  judge_together(family, criterion);
  return changes;
}

std::string phases_in_words(const std::vector<PhaseChange>& changes, const Sides& sides) {
  std::vector<std::string> texts;
  const char* repetition_noun = noun(repetition(sides, Repetition::kStep));
  for (const PhaseChange& change : changes) {
    if (change.requests) continue;
    const Change& time = change.time_ms;
    std::string text = change.phase + ": ";
    if (!std::isnan(time.difference))
      text += fmt::format("{:.3f} to {:.3f} ms", time.baseline, time.test);
    if (differs(time) || time.verdict == Verdict::kSame || time.verdict == Verdict::kUnclear)
      text += fmt::format(" ({}, {})", less_or_more_in_words(time),
                          within_sentence(verdict_text(time, repetition_noun)));
    else
      text += " (" + within_sentence(verdict_text(time, repetition_noun)) + ")";
    texts.push_back(std::move(text));
  }
  return texts.empty() ? "" : core::join(texts, "; ") + ".";
}

model::Table phases_table(const std::vector<PhaseChange>& changes, const Sides& sides) {
  const std::string a = sides.baseline.label;
  const std::string b = sides.test.label;
  const std::string interval =
      fmt::format("{:.3g} % CI ", 100 * sides.options.criterion.confidence);
  model::Table table{
      .name = "Phases",
      .title = "The runs of the model by phase",
      .columns = {{.name = "Phase"},
                  {.name = "Batch size", .description = "requests; empty: all sizes"},
                  {.name = a + " steps", .description = "over all runs"},
                  {.name = b + " steps"},
                  {.name = a + " (ms)", .unit = "ms", .description = "a step, mean over ranks"},
                  {.name = b + " (ms)", .unit = "ms"},
                  {.name = "Difference (ms)", .unit = "ms"},
                  {.name = "Less by (%)", .unit = "%", .better = model::Better::kHigher},
                  {.name = interval + "low (%)", .unit = "%"},
                  {.name = interval + "high (%)", .unit = "%"},
                  {.name = "Verdict", .description = status_meaning(sides.options.criterion)}}};
  for (const char* part : {"compute", "exposed comm", "idle"})
    for (const std::string& label : {a, b})
      table.columns.push_back({.name = fmt::format("{} {} (ms)", label, part), .unit = "ms"});
  for (const PhaseChange& change : changes) {
    const Change& time = change.time_ms;
    std::vector<Cell> row = {change.phase, change.requests ? Cell(*change.requests) : Cell(),
                             static_cast<std::int64_t>(change.baseline_steps),
                             static_cast<std::int64_t>(change.test_steps)};
    for (const double value : {time.baseline, time.test, time.difference, time.percent,
                               time.percent_low, time.percent_high})
      row.push_back(cell_of(value));
    row.emplace_back(verdict_text(time, noun(repetition(sides, Repetition::kStep))));
    for (double PhaseParts::*part :
         {&PhaseParts::compute_ms, &PhaseParts::exposed_comm_ms, &PhaseParts::idle_ms})
      for (const PhaseParts* side : {&change.baseline, &change.test})
        row.push_back(cell_of(side->*part));
    table.add_row(std::move(row));
  }
  table.style.verdict_column = "Verdict";
  table.style.judged_columns = {"Less by (%)"};
  return table;
}

}  // namespace assay::trace
