#include "sweep/ranking.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/counted.h"
#include "core/shell.h"
#include "core/text.h"

namespace assay::sweep {
namespace {

using model::Cell;
using model::cell_of;
using model::Verdict;

constexpr double kPercent = 100;
constexpr const char* kReferenceVerdict = "reference";

// Orders settings by time; settings without a time come last.
bool faster(const SettingResult& a, const SettingResult& b) {
  if (std::isnan(a.step_ms) || std::isnan(b.step_ms)) return !std::isnan(a.step_ms);
  return a.step_ms < b.step_ms;
}

// Returns three significant digits without a sign, and whole numbers from 100 on.
std::string digits(double value) {
  const double magnitude = std::fabs(value);
  return magnitude < 99.95 ? fmt::format("{:.3g}", magnitude) : fmt::format("{:.0f}", magnitude);
}

std::string with_sign(double value) {
  return (value < 0 ? "-" : "+") + digits(value);
}

std::string faster_or_slower(double percent) {
  return digits(percent) + (percent < 0 ? " % slower" : " % faster");
}

// Returns "1.88 to 3.31 %" if both ends have the same sign, whose direction the sentence tells, and
// otherwise "0.56 % slower to 0.92 % faster". Nothing takes more than 100 % less time, so an end
// beyond that tells nothing.
std::string interval_in_words(const SettingResult& result) {
  const double low = result.change_percent_low;
  const double high = result.change_percent_high;
  if (high > kPercent)
    return low > 0 ? fmt::format("at least {} %", digits(low))
                   : fmt::format("at most {} % slower", digits(low));
  if (low > 0) return fmt::format("{} to {} %", digits(low), digits(high));
  if (high < 0) return fmt::format("{} to {} %", digits(high), digits(low));
  return faster_or_slower(std::min(low, -0.0)) + " to " + faster_or_slower(high);
}

// Returns "slower by 2.59 to 93.5 %" for settings that are all worse, sorted with the fastest
// first.
std::string slower_by(const std::vector<const SettingResult*>& worse) {
  const std::string least = digits(worse.front()->change_percent);
  if (worse.size() == 1) return fmt::format("slower by {} %", least);
  return fmt::format("slower by {} to {} %", least, digits(worse.back()->change_percent));
}

Verdict direction_of(const SettingResult& result) {
  const Verdict verdict = model::verdict_of(Cell(result.verdict));
  if (verdict != Verdict::kDifferent) return verdict;
  return result.change_percent > 0 ? Verdict::kBetter : Verdict::kWorse;
}

bool counts_runs(const SettingResult& result) {
  return result.repetition == "run";
}

std::vector<Cell> row_of(const SettingResult& result) {
  return {result.setting,
          static_cast<std::int64_t>(result.runs),
          static_cast<std::int64_t>(result.steps),
          cell_of(result.step_ms),
          cell_of(result.mean_ms),
          cell_of(result.change_percent),
          cell_of(result.change_percent_low),
          cell_of(result.change_percent_high),
          result.verdict,
          cell_of(result.mean_change_percent),
          cell_of(result.mean_change_percent_low),
          cell_of(result.mean_change_percent_high)};
}

report::RankedItem item_of(const SettingResult& result, bool is_reference) {
  report::RankedItem item{.name = result.setting,
                          .value = is_reference ? 0 : result.change_percent,
                          .low = result.change_percent_low,
                          .high = result.change_percent_high,
                          .verdict = model::verdict_of(Cell(result.verdict))};
  const std::string interval =
      std::isnan(item.low) ? ""
                           : fmt::format(" ({} to {})", with_sign(item.low), with_sign(item.high));
  const bool known = !is_reference && !std::isnan(result.change_percent);
  item.texts = {std::isnan(result.step_ms) ? "" : fmt::format("{:.2f}", result.step_ms),
                known ? with_sign(result.change_percent) + interval : "", result.verdict};
  return item;
}

}  // namespace

double confidence_of_each(double together, std::size_t comparisons) {
  return 1 - (1 - together) / static_cast<double>(std::max<std::size_t>(comparisons, 1));
}

Ranking::Ranking(std::vector<SettingResult> results, RankingRules rules)
    : rules_(rules),
      reference_(results.front().setting),
      reference_runs_(results.front().runs),
      settings_(std::move(results)) {
  settings_.front().verdict = kReferenceVerdict;
  std::stable_sort(settings_.begin(), settings_.end(), faster);
}

double Ranking::confidence() const {
  return confidence_of_each(rules_.together, settings_.size() - 1);
}

std::vector<const SettingResult*> Ranking::with(Verdict verdict) const {
  std::vector<const SettingResult*> found;
  for (const SettingResult& result : settings_)
    if (direction_of(result) == verdict && result.setting != reference_) found.push_back(&result);
  // Evidence of several runs comes before that of one.
  if (verdict == Verdict::kBetter)
    std::stable_partition(found.begin(), found.end(),
                          [this](const SettingResult* result) { return knows_runs(*result); });
  return found;
}

std::string Ranking::certainty(const SettingResult& result) const {
  // Each interval alone is then wider than one of this confidence.
  const char* scope = settings_.size() > 2 ? " over all comparisons" : "";
  const bool lone_run = counts_runs(result) && !knows_runs(result);
  return fmt::format("{:g} %{}: {}; {}{}", kPercent * rules_.together, scope,
                     interval_in_words(result),
                     core::counted(result.repetitions, result.repetition),
                     lone_run ? fmt::format(" against {}", reference_runs_) : "");
}

// Describes the settings that are neither the one to use nor the reference.
std::string Ranking::rest_in_words() const {
  std::string text;
  const auto same = with(Verdict::kSame);
  if (same.size() == 1)
    text += fmt::format(" {} takes the same time within {:g} % ({}).", same[0]->setting,
                        rules_.tolerance_percent, certainty(*same[0]));
  if (same.size() > 1)
    text += fmt::format(" {} settings take the same time within {:g} %.", same.size(),
                        rules_.tolerance_percent);
  const auto worse = with(Verdict::kWorse);
  if (!worse.empty())
    text += fmt::format(" {} {}.", core::counted(worse.size(), "setting is", "settings are"),
                        slower_by(worse));
  return text + recurring_in_words();
}

// Names the settings whose steady steps show no difference that all steps show.
std::string Ranking::recurring_in_words() const {
  std::string text;
  for (const Verdict verdict : {Verdict::kSame, Verdict::kUnclear}) {
    for (const SettingResult* result : with(verdict)) {
      const bool is_slower = result->mean_change_percent_high < -rules_.tolerance_percent;
      const bool is_faster = result->mean_change_percent_low > rules_.tolerance_percent;
      if (!knows_runs(*result) || (!is_slower && !is_faster)) continue;
      text += fmt::format(" But over all profiled steps {} is {}, beyond the noise between runs.",
                          result->setting, faster_or_slower(result->mean_change_percent));
    }
  }
  return text;
}

std::string Ranking::answer() const {
  const char* here = knows_all_runs() ? "" : " in these runs";
  if (const auto better = with(Verdict::kBetter); !better.empty()) {
    const SettingResult& best = *better.front();
    std::string text = fmt::format("Use {}: it is {} than {}{} ({}).", best.setting,
                                   faster_or_slower(best.change_percent), reference_,
                                   knows_runs(best) ? "" : " in these runs", certainty(best));
    if (better.size() > 1)
      text += fmt::format(" {} faster than {}, too.",
                          core::counted(better.size() - 1, "more setting is", "more settings are"),
                          reference_);
    return text + rest_in_words();
  }
  if (const auto unclear = with(Verdict::kUnclear); !unclear.empty()) {
    const SettingResult& first = *unclear.front();
    std::string text = fmt::format("Unclear whether {} is faster than {} ({}).", first.setting,
                                   reference_, certainty(first));
    if (!first.needed.empty()) text += " " + first.needed + ".";
    return text + rest_in_words();
  }
  const std::string rest = rest_in_words();
  if (rest.empty()) return "Unknown whether a setting is faster than " + reference_ + ".";
  return fmt::format("Keep {}: {} faster{}.{}", reference_,
                     settings_.size() == 2 ? "the other setting is not" : "no other setting is",
                     here, rest);
}

std::string Ranking::next(const std::string& sweep_folder) const {
  // A sweep that began with one run of each setting has no room for a second.
  const bool has_repeats = std::any_of(settings_.begin(), settings_.end(),
                                       [](const SettingResult& one) { return one.runs > 1; });
  const std::string measure =
      sweep_folder.empty() ? "keep repeat1, repeat2, ... of each in its folder"
      : has_repeats        ? fmt::format("assay sweep run --resume --repeat N -o {}",
                                         core::shell_quoted(sweep_folder))
                           : "assay sweep run --repeat 3, with -o of another folder";
  if (const auto better = with(Verdict::kBetter); !better.empty()) {
    const SettingResult& best = *better.front();
    const std::string with_what = sweep_folder.empty()     ? best.setting
                                  : best.variables.empty() ? "without these variables"
                                                           : "with " + best.variables;
    const std::string repeat =
        knows_runs(best)
            ? ""
            : fmt::format(" One run a setting cannot tell the noise between runs: {}.", measure);
    return fmt::format("Next: {} {}. {} says where the time is saved.{}",
                       sweep_folder.empty() ? "use" : "run", with_what, best.comparison, repeat);
  }
  if (!knows_all_runs() || !with(Verdict::kUnclear).empty())
    return fmt::format("Next: measure more runs of each setting: {}.", measure);
  if (const auto worse = with(Verdict::kWorse); !worse.empty())
    return fmt::format("Next: nothing to change. {} says where {} loses its time.",
                       worse.back()->comparison, worse.back()->setting);
  return "Next: nothing to change.";
}

model::Table Ranking::table(const std::string& sweep_folder) const {
  model::Table table{
      .name = "overview",
      .title = answer(),
      .columns = {{.name = "setting"},
                  {.name = "runs", .description = "that went well"},
                  {.name = "steps", .description = "profiled, over all runs"},
                  {.name = "step (ms)",
                   .unit = "ms",
                   .better = model::Better::kLower,
                   .description = "steady period: from a step's first GPU work to that of the "
                                  "next, mean over the steady steps"},
                  {.name = "mean (ms)",
                   .unit = "ms",
                   .better = model::Better::kLower,
                   .description = "of all profiled steps, steady or not"},
                  {.name = "faster by (%)",
                   .unit = "%",
                   .better = model::Better::kHigher,
                   .description = "than " + reference_},
                  {.name = "low (%)", .unit = "%", .description = "end of its interval"},
                  {.name = "high (%)", .unit = "%", .description = "end of its interval"},
                  {.name = "verdict",
                   .description = "Same: the whole interval lies within the tolerance. Unclear: it "
                                  "holds zero and is wider. Different in these runs: a setting was "
                                  "run once, so the noise between its runs is unknown."},
                  {.name = "mean faster by (%)",
                   .unit = "%",
                   .better = model::Better::kHigher,
                   .description = "the mean of all profiled steps, than that of " + reference_},
                  {.name = "mean low (%)", .unit = "%", .description = "end of its interval"},
                  {.name = "mean high (%)", .unit = "%", .description = "end of its interval"}}};
  table.notes = {
      next(sweep_folder),
      fmt::format("{} with {}: each interval has {:.4g} % confidence, so that all hold together "
                  "with {:g} %; it counts {}. Same: within {:g} %.",
                  core::counted(settings_.size() - 1, "comparison"), reference_,
                  kPercent * confidence(), kPercent * rules_.together, counted_in_words(),
                  rules_.tolerance_percent)};
  for (const SettingResult& result : settings_)
    if (!result.transients.empty()) table.notes.push_back(result.transients);
  table.style.opens_with_text = true;
  table.style.verdict_column = "verdict";
  table.style.judged_columns = {"faster by (%)"};
  table.style.chart = {.title = headline(),
                       .axis = fmt::format("faster than {} by (%), with its interval", reference_),
                       .bars = model::Chart::Bars::kIntervals,
                       .columns = {"faster by (%)", "low (%)", "high (%)"}};
  table.style.second_chart = {.title = "How long a step takes",
                              .axis = "ms per steady step, mean over ranks and runs",
                              .bars = model::Chart::Bars::kRows,
                              .columns = {"step (ms)"}};
  for (const SettingResult& result : settings_)
    table.add_row(row_of(result));
  return table;
}

// What the chart and the figure show, for their titles.
std::string Ranking::headline() const {
  const auto better = with(Verdict::kBetter);
  if (!better.empty()) {
    return fmt::format("{} is {} than {}", better[0]->setting,
                       faster_or_slower(better[0]->change_percent), reference_);
  }
  if (!with(Verdict::kUnclear).empty())
    return fmt::format("Unclear whether a setting is faster than {}", reference_);
  std::string none = fmt::format("No setting is faster than {}", reference_);
  const auto worse = with(Verdict::kWorse);
  if (worse.empty()) return none;
  return fmt::format("{}; {} {}", none, core::counted(worse.size(), "is", "are"), slower_by(worse));
}

// Returns "3 runs", "2 to 3 runs" where settings have unequally many, or "3 runs, or 6 steps" where
// some were run once, as was the reference.
std::string Ranking::repetitions_in_words() const {
  std::map<std::string, std::pair<std::size_t, std::size_t>> ranges;
  for (const SettingResult& result : settings_) {
    if (std::isnan(result.step_ms)) continue;
    const auto [range, is_new] =
        ranges.try_emplace(result.repetition, result.repetitions, result.repetitions);
    range->second.first = std::min(range->second.first, result.repetitions);
    range->second.second = std::max(range->second.second, result.repetitions);
  }
  std::vector<std::string> words;
  for (const auto& [repetition, range] : ranges)
    words.push_back((range.first == range.second ? "" : fmt::format("{} to ", range.first)) +
                    core::counted(range.second, repetition));
  return core::join(words, ", or ");
}

std::string Ranking::counted_in_words() const {
  if (knows_all_runs()) return "runs";
  const auto in_runs = std::count_if(settings_.begin(), settings_.end(), counts_runs);
  if (in_runs == 0) return "steps";
  std::string text =
      "runs, and a setting that was run once is taken to have the noise of the other";
  if (in_runs < std::ssize(settings_)) text += "; of two that were run once, steps";
  return text;
}

bool Ranking::knows_runs(const SettingResult& result) const {
  return counts_runs(result) && std::min(result.runs, reference_runs_) > 1;
}

bool Ranking::knows_all_runs() const {
  return std::all_of(settings_.begin(), settings_.end(), [this](const SettingResult& result) {
    return std::isnan(result.step_ms) || knows_runs(result);
  });
}

report::RankingFigure Ranking::figure() const {
  report::RankingFigure figure;
  figure.title = headline();
  figure.subtitle = fmt::format(
      "Dot: mean of {}; bar: {:.3g} % interval ({:g} % for all together); grey band: within {:g} %",
      repetitions_in_words(), kPercent * confidence(), kPercent * rules_.together,
      rules_.tolerance_percent);
  figure.axis =
      fmt::format("time of a step against {} (%): left is slower, right is faster", reference_);
  figure.tolerance = rules_.tolerance_percent;
  figure.headings = {"step (ms)", "faster by (%)", "verdict"};
  for (const SettingResult& result : settings_)
    figure.items.push_back(item_of(result, result.setting == reference_));
  return figure;
}

}  // namespace assay::sweep
