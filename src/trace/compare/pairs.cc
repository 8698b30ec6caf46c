#include "trace/compare/pairs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <utility>

#include "core/counted.h"
#include "core/statistics.h"
#include "core/text.h"
#include "trace/compare/timeline_comparison.h"

namespace assay::trace {
namespace {

using model::Cell;
using model::cell_of;

// More pairs than this are counted, not named.
constexpr std::size_t kMostNamed = 3;

std::vector<double> step_times(const std::vector<TimelineFigure>& figures,
                               Repetition repetition,
                               const char* type) {
  const SeriesByType series = mean_over_ranks(figures, repetition);
  const auto total = series.find(type);
  return total == series.end() ? std::vector<double>() : total->second.time_ms;
}

// The settings, a time of a step (kTotalTime, kAllSteps), and what is known of the noise of all.
struct Judged {
  std::span<const SettingFigures> settings;
  const char* type;
  JointNoise noise;
  Criterion criterion;  // of each pair
};

Judged judged(std::span<const SettingFigures> settings, Criterion criterion, const char* type) {
  criterion.confidence = core::confidence_of_each(criterion.confidence, settings.size() - 1);
  std::vector<JointRuns> runs;
  for (const SettingFigures& setting : settings)
    runs.push_back(joint_runs(setting, type));
  return {settings, type, JointNoise(runs), criterion};
}

double step_time(const Judged& judged, std::size_t place) {
  if (judged.noise.knows(place)) return judged.noise.mean(place);
  const SettingFigures& setting = judged.settings[place];
  const std::vector<TimelineFigure>& figures =
      setting.steady.empty() ? setting.whole : setting.steady;
  const bool repeated = setting.runs.size() > 1;
  return core::mean(
      step_times(figures, repeated ? Repetition::kRun : Repetition::kStep, judged.type));
}

std::vector<std::size_t> fastest_first(const Judged& judged) {
  std::vector<double> times;
  for (std::size_t place = 0; place < judged.settings.size(); ++place)
    times.push_back(step_time(judged, place));
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&times](std::size_t a, std::size_t b) {
    if (std::isnan(times[a]) || std::isnan(times[b])) return !std::isnan(times[a]);
    return times[a] < times[b];
  });
  return order;
}

Change change_of_pair(const Judged& judged, const TimelinePair& figures, const SettingPair& pair) {
  if (judged.noise.knows(pair.second, pair.first))
    return judged.noise.change(pair.second, pair.first, judged.criterion);
  if (judged.noise.are_apart(pair.second, pair.first))
    return judged.noise.change_apart(pair.second, pair.first);
  const Repetition repetition = figures.basis.repetition;
  return measure_change(step_times(figures.baseline, repetition, judged.type),
                        step_times(figures.test, repetition, judged.type), model::Better::kLower,
                        with_evidence(judged.criterion, repetition));
}

SettingPair pair_of(const Judged& steady,
                    const Judged& all_steps,
                    std::size_t first,
                    std::size_t second) {
  const TimelinePair figures = timeline_pair(steady.settings[second], steady.settings[first]);
  SettingPair pair{.first = first, .second = second, .basis = figures.basis};
  pair.is_apart = steady.noise.are_apart(second, first);
  pair.change = change_of_pair(steady, figures, pair);
  if (figures.basis.window != Basis::Window::kStep) return pair;
  pair.all_steps = change_of_pair(all_steps, figures, pair);
  pair.slow = model::slow_steps(pair.change.verdict, pair.all_steps.verdict);
  return pair;
}

bool is_contradicted(const SettingPair& pair) {
  return pair.slow != model::SlowSteps::kNone;
}

// "1 is unclear (a and b)", "" for none.
template <typename Counts>
std::string counted_pairs(const SettingPairs& pairs, const Counts& counts, const char* what) {
  std::vector<std::string> names;
  for (const SettingPair& pair : pairs.pairs)
    if (counts(pair))
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
      return !is_contradicted(pair) &&
             std::find(verdicts.begin(), verdicts.end(), pair.change.verdict) != verdicts.end();
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

std::string pair_verdict(const SettingPair& pair) {
  std::string steady = pair.is_apart ? kApart : timeline_verdict(pair.change, pair.basis);
  if (!is_contradicted(pair)) return steady;
  return model::contradicted_text(steady, timeline_verdict(pair.all_steps, pair.basis));
}

std::vector<model::Column> pair_columns(const SettingPairs& pairs) {
  constexpr const char* kOfEach = "so wide that those of one setting with all others hold together";
  const std::string interval = fmt::format("{:.4g} % CI ", 100 * pairs.each);
  return {
      {.name = "setting"},
      {.name = "against"},
      {.name = "setting (ms)",
       .unit = "ms",
       .better = model::Better::kLower,
       .description = "a steady step of the setting, mean over ranks, steps and runs, without an "
                      "effect of their order"},
      {.name = "against (ms)",
       .unit = "ms",
       .better = model::Better::kLower,
       .description = "the same of the other"},
      {.name = "faster by (%)",
       .unit = "%",
       .better = model::Better::kHigher,
       .description = "the setting, than the other"},
      {.name = interval + "low (%)", .unit = "%", .description = kOfEach},
      {.name = interval + "high (%)", .unit = "%", .description = kOfEach},
      {.name = "p corrected",
       .description = "probability of such a difference without a cause, corrected for the "
                      "number of pairs (Holm)"},
      {.name = "verdict", .description = status_meaning(pairs.criterion)}};
}

}  // namespace

SettingPairs compare_pairs(std::span<const SettingFigures> settings, const Criterion& criterion) {
  const Judged steady = judged(settings, criterion, kTotalTime);
  const Judged all_steps = judged(settings, criterion, kAllSteps);
  SettingPairs result{.labels = {},
                      .order = fastest_first(steady),
                      .pairs = {},
                      .criterion = criterion,
                      .each = steady.criterion.confidence,
                      .noise = steady.noise.kind()};
  for (const SettingFigures& setting : settings)
    result.labels.push_back(setting.label);
  std::erase_if(result.order, [&](std::size_t place) { return !settings[place].is_applied; });
  for (std::size_t i = 0; i < result.order.size(); ++i)
    for (std::size_t j = i + 1; j < result.order.size(); ++j)
      result.pairs.push_back(pair_of(steady, all_steps, result.order[i], result.order[j]));
  std::vector<Change*> changes;
  for (SettingPair& pair : result.pairs)
    changes.push_back(&pair.change);
  judge_together(changes, criterion);
  return result;
}

const char* order_in_words(JointNoise::Kind noise) {
  if (noise == JointNoise::Kind::kTrend)
    return "Times are without the trend over the order of the runs.";
  if (noise == JointNoise::Kind::kBlocks)
    return "Times are those within the repeats that both settings have or, where these are fewer "
           "than two, those that the repeats of all settings tell.";
  return "";
}

std::string pairs_in_words(const SettingPairs& pairs) {
  if (pairs.order.size() < 3) return "";
  std::vector<std::string> texts = {what_differs(pairs)};
  const std::string same = fmt::format("the same within {:g} %", pairs.criterion.tolerance_percent);
  for (const auto& [verdict, what] : {std::pair(Verdict::kSame, same.c_str()),
                                      {Verdict::kUnclear, "unclear"},
                                      {Verdict::kUnknown, "unknown"}}) {
    const auto counts = [wanted = verdict](const SettingPair& pair) {
      return !is_contradicted(pair) && pair.change.verdict == wanted;
    };
    std::string text = counted_pairs(pairs, counts, what);
    if (!text.empty()) texts.push_back(std::move(text));
  }
  if (std::string text = counted_pairs(pairs, is_contradicted,
                                       "judged otherwise by all profiled steps than by the steady "
                                       "ones");
      !text.empty())
    texts.push_back(std::move(text));
  return core::join(texts, "; ") + ".";
}

model::Table pairs_table(const SettingPairs& pairs) {
  model::Table table{.name = kPairsSheet,
                     .title = "Which settings differ, pair by pair",
                     .columns = pair_columns(pairs)};
  if (const std::string words = pairs_in_words(pairs); !words.empty()) table.notes = {words};
  table.notes.push_back(fmt::format(
      "The verdicts on {} pairs are corrected for their number (Holm), so that with {:g} % "
      "confidence none of them claims a difference that is not there. A ranking, which compares "
      "each "
      "setting with one alone, may be certain where a pair here is unclear. Steady steps are "
      "compared; where the mean of all profiled steps contradicts them, the verdict says so.",
      pairs.pairs.size(), 100 * pairs.criterion.confidence));
  if (const char* words = order_in_words(pairs.noise); *words != 0) table.notes.emplace_back(words);
  for (const SettingPair& pair : pairs.pairs) {
    const Change& change = pair.change;
    table.add_row({pairs.labels[pair.first], pairs.labels[pair.second], cell_of(change.test),
                   cell_of(change.baseline), cell_of(change.percent), cell_of(change.percent_low),
                   cell_of(change.percent_high), cell_of(change.p_corrected), pair_verdict(pair)});
  }
  table.style.opens_with_text = true;
  table.style.verdict_column = "verdict";
  table.style.judged_columns = {"faster by (%)"};
  return table;
}

}  // namespace assay::trace
