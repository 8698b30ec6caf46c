#include "trace/compare/pairs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <utility>

#include "core/counted.h"
#include "core/text.h"
#include "trace/compare/timeline_comparison.h"

namespace assay::trace {
namespace {

using model::Cell;
using model::cell_of;

// More pairs than this are counted, not named.
constexpr std::size_t kMostNamed = 3;

std::vector<double> step_times(const std::vector<TimelineFigure>& figures, Repetition repetition) {
  const SeriesByType series = mean_over_ranks(figures, repetition);
  const auto total = series.find(kTotalTime);
  return total == series.end() ? std::vector<double>() : total->second.time_ms;
}

double step_time(const SettingFigures& setting) {
  const std::vector<TimelineFigure>& figures =
      setting.steady.empty() ? setting.whole : setting.steady;
  const bool repeated = setting.runs.size() > 1;
  return core::mean(step_times(figures, repeated ? Repetition::kRun : Repetition::kStep));
}

std::vector<std::size_t> fastest_first(std::span<const SettingFigures> settings) {
  std::vector<double> times;
  for (const SettingFigures& setting : settings)
    times.push_back(step_time(setting));
  std::vector<std::size_t> order(settings.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&times](std::size_t a, std::size_t b) {
    if (std::isnan(times[a]) || std::isnan(times[b])) return !std::isnan(times[a]);
    return times[a] < times[b];
  });
  return order;
}

SettingPair pair_of(std::span<const SettingFigures> settings,
                    std::size_t first,
                    std::size_t second,
                    const Criterion& criterion) {
  const TimelinePair figures = timeline_pair(settings[second], settings[first]);
  const Repetition repetition = figures.basis.repetition;
  return {.first = first,
          .second = second,
          .basis = figures.basis,
          .change = measure_change(step_times(figures.baseline, repetition),
                                   step_times(figures.test, repetition), model::Better::kLower,
                                   with_evidence(criterion, repetition))};
}

// "1 is unclear (a and b)", "" for none.
std::string counted_pairs(const SettingPairs& pairs, Verdict verdict, const char* what) {
  std::vector<std::string> names;
  for (const SettingPair& pair : pairs.pairs)
    if (pair.change.verdict == verdict)
      names.push_back(pairs.labels[pair.first] + " and " + pairs.labels[pair.second]);
  if (names.empty()) return "";
  const std::string count =
      fmt::format("{} {} {}", names.size(), names.size() == 1 ? "is" : "are", what);
  return names.size() > kMostNamed ? count : fmt::format("{} ({})", count, core::join(names, ", "));
}

// "13 of 15 pairs of settings differ for certain".
std::string what_differs(const SettingPairs& pairs) {
  const auto count = [&pairs](std::initializer_list<Verdict> verdicts) {
    return std::count_if(pairs.pairs.begin(), pairs.pairs.end(), [&](const SettingPair& pair) {
      return std::find(verdicts.begin(), verdicts.end(), pair.change.verdict) != verdicts.end();
    });
  };
  const auto certain = count({Verdict::kBetter, Verdict::kWorse});
  const auto in_these_runs = count({Verdict::kDifferent});
  if (in_these_runs == 0)
    return fmt::format("{} of {} {} for certain", certain,
                       core::counted(pairs.pairs.size(), "pair of settings", "pairs of settings"),
                       certain == 1 ? "differs" : "differ");
  std::string text =
      fmt::format("{} of {} {} in these runs", in_these_runs,
                  core::counted(pairs.pairs.size(), "pair of settings", "pairs of settings"),
                  in_these_runs == 1 ? "differs" : "differ");
  if (certain > 0) text += fmt::format(", {} more for certain", certain);
  return text;
}

std::vector<model::Column> pair_columns(const Criterion& criterion) {
  const std::string interval = fmt::format("{:.4g} % CI ", 100 * criterion.confidence);
  return {{.name = "setting"},
          {.name = "against"},
          {.name = "setting (ms)",
           .unit = "ms",
           .better = model::Better::kLower,
           .description = "a steady step of the setting, mean over ranks, steps and runs"},
          {.name = "against (ms)",
           .unit = "ms",
           .better = model::Better::kLower,
           .description = "the same of the other"},
          {.name = "faster by (%)",
           .unit = "%",
           .better = model::Better::kHigher,
           .description = "the setting, than the other"},
          {.name = interval + "low (%)", .unit = "%", .description = "of this pair alone"},
          {.name = interval + "high (%)", .unit = "%", .description = "of this pair alone"},
          {.name = "p corrected",
           .description = "probability of such a difference without a cause, corrected for the "
                          "number of pairs (Holm)"},
          {.name = "verdict", .description = status_meaning(criterion)}};
}

}  // namespace

SettingPairs compare_pairs(std::span<const SettingFigures> settings, const Criterion& criterion) {
  SettingPairs result{
      .labels = {}, .order = fastest_first(settings), .pairs = {}, .criterion = criterion};
  for (const SettingFigures& setting : settings)
    result.labels.push_back(setting.label);
  for (std::size_t i = 0; i < result.order.size(); ++i)
    for (std::size_t j = i + 1; j < result.order.size(); ++j)
      result.pairs.push_back(pair_of(settings, result.order[i], result.order[j], criterion));
  std::vector<Change*> changes;
  for (SettingPair& pair : result.pairs)
    changes.push_back(&pair.change);
  judge_together(changes, criterion);
  return result;
}

std::string pairs_in_words(const SettingPairs& pairs) {
  if (pairs.labels.size() < 3) return "";
  std::vector<std::string> texts = {what_differs(pairs)};
  const std::string same = fmt::format("the same within {:g} %", pairs.criterion.tolerance_percent);
  for (const auto& [verdict, what] : {std::pair(Verdict::kSame, same.c_str()),
                                      {Verdict::kUnclear, "unclear"},
                                      {Verdict::kUnknown, "unknown"}}) {
    std::string text = counted_pairs(pairs, verdict, what);
    if (!text.empty()) texts.push_back(std::move(text));
  }
  return core::join(texts, "; ") + ".";
}

model::Table pairs_table(const SettingPairs& pairs) {
  model::Table table{.name = kPairsSheet,
                     .title = "Which settings differ, pair by pair",
                     .columns = pair_columns(pairs.criterion)};
  if (const std::string words = pairs_in_words(pairs); !words.empty()) table.notes = {words};
  table.notes.push_back(fmt::format(
      "The verdicts on {} pairs are corrected for their number (Holm), so that with {:g} % "
      "confidence none of them claims a difference that is not there. Same is said of each pair "
      "alone.",
      pairs.pairs.size(), 100 * pairs.criterion.confidence));
  for (const SettingPair& pair : pairs.pairs) {
    const Change& change = pair.change;
    table.add_row({pairs.labels[pair.first], pairs.labels[pair.second], cell_of(change.test),
                   cell_of(change.baseline), cell_of(change.percent), cell_of(change.percent_low),
                   cell_of(change.percent_high), cell_of(change.p_corrected),
                   timeline_verdict(change, pair.basis)});
  }
  table.style.opens_with_text = true;
  table.style.verdict_column = "verdict";
  table.style.judged_columns = {"faster by (%)"};
  return table;
}

}  // namespace assay::trace
