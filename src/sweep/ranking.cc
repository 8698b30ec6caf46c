#include "sweep/ranking.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/counted.h"
#include "core/shell.h"
#include "core/statistics.h"
#include "core/text.h"

namespace assay::sweep {
namespace {

using model::Cell;
using model::cell_of;
using model::SlowSteps;
using model::Verdict;

constexpr double kPercent = 100;
constexpr const char* kReferenceVerdict = "reference";
constexpr const char* kNotApplied = "Not applied";
constexpr const char* kNoVerdict = "No verdict";  // since the reference was not applied
constexpr const char* kNoGoodRun = "No good run";

// Returns the time of a step as its change says, or else as measured; NaN for none.
double judged_ms(const SettingResult& result, double reference_ms) {
  if (std::isnan(result.change_percent) || std::isnan(result.step_ms)) return result.step_ms;
  return reference_ms * (1 - result.change_percent / kPercent);
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

// Returns "1.88 to 3.31 % faster" if both ends have the same sign, and otherwise "0.56 % slower to
// 0.92 % faster". Nothing takes more than 100 % less time, so an end beyond that tells nothing.
std::string interval_in_words(const SettingResult& result) {
  const double low = result.change_percent_low;
  const double high = result.change_percent_high;
  if (high > kPercent)
    return low > 0 ? fmt::format("at least {} % faster", digits(low))
                   : fmt::format("at most {} % slower", digits(low));
  if (low > 0) return fmt::format("{} to {} % faster", digits(low), digits(high));
  if (high < 0) return fmt::format("{} to {} % slower", digits(high), digits(low));
  return faster_or_slower(std::min(low, -0.0)) + " to " + faster_or_slower(high);
}

// Returns "slower by 2.59 to 93.5 %" for settings that are all worse, sorted with the fastest
// first.
std::string slower_by(const std::vector<const SettingResult*>& worse) {
  const std::string least = digits(worse.front()->change_percent);
  const std::string most = digits(worse.back()->change_percent);
  if (least == most) return fmt::format("slower by {} %", least);
  return fmt::format("slower by {} to {} %", least, most);
}

SlowSteps slow_steps_of(const SettingResult& result) {
  return model::slow_steps(model::verdict_of(Cell(result.verdict)),
                           model::verdict_of(Cell(result.mean_verdict)));
}

Verdict direction_of(const SettingResult& result) {
  const Verdict verdict = model::verdict_of(Cell(result.verdict));
  if (verdict != Verdict::kDifferent) return verdict;
  return result.change_percent > 0 ? Verdict::kBetter : Verdict::kWorse;
}

bool counts_runs(const SettingResult& result) {
  return result.repetition == "run";
}

std::string judged_in_words(const SettingResult& result) {
  if (slow_steps_of(result) == SlowSteps::kNone) return result.verdict;
  return model::contradicted_text(result.verdict, result.mean_verdict);
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
          judged_in_words(result),
          cell_of(result.mean_change_percent),
          cell_of(result.mean_change_percent_low),
          cell_of(result.mean_change_percent_high),
          result.mean_verdict};
}

// Returns whether `name` is `other` with a number, as settings are called whose own names are
// equal.
bool is_numbered(const std::string& name, const std::string& other) {
  if (!name.starts_with(other + "_")) return false;
  const std::string number = name.substr(other.size() + 1);
  return !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
}

// Returns "a-x has X=a, a-x_2 has X=A." for settings whose names do not tell them apart, or "".
std::string alike_names_in_words(const std::vector<SettingResult>& settings) {
  std::map<std::string, std::string> alike;
  for (const SettingResult& one : settings)
    for (const SettingResult& other : settings)
      if (is_numbered(one.setting, other.setting))
        for (const SettingResult* result : {&one, &other})
          alike[result->setting] = result->setting + " has " + result->variables;
  std::vector<std::string> texts;
  for (const auto& [name, text] : alike)
    texts.push_back(text);
  return texts.empty() ? "" : core::join(texts, ", ") + ".";
}

// Returns the row of a setting without a good run.
SettingResult without_result(const std::string& setting) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  return {.setting = setting,
          .step_ms = kUnknown,
          .change_percent = kUnknown,
          .change_percent_low = kUnknown,
          .change_percent_high = kUnknown,
          .verdict = kNoGoodRun};
}

report::RankedItem item_of(const SettingResult& result, bool is_reference) {
  report::RankedItem item{.name = result.setting,
                          .value = is_reference ? 0 : result.change_percent,
                          .low = result.change_percent_low,
                          .high = result.change_percent_high,
                          .verdict = model::verdict_of(Cell(judged_in_words(result)))};
  const std::string interval =
      std::isnan(item.low) ? ""
                           : fmt::format(" ({} to {})", with_sign(item.low), with_sign(item.high));
  const bool known = !is_reference && !std::isnan(result.change_percent);
  item.texts = {std::isnan(result.step_ms) ? "" : fmt::format("{:.2f}", result.step_ms),
                known ? with_sign(result.change_percent) + interval : "", judged_in_words(result)};
  return item;
}

}  // namespace

Ranking::Ranking(std::vector<SettingResult> results, RankingRules rules, RunDoubts doubts)
    : rules_(std::move(rules)),
      reference_(results.front().setting),
      reference_runs_(results.front().runs),
      settings_(std::move(results)),
      doubts_(std::move(doubts)) {
  const double reference_ms = settings_.front().step_ms;
  settings_.front().verdict = kReferenceVerdict;
  settings_.front().mean_verdict = "";
  for (SettingResult& result : settings_) {
    if (has_reference() && doubts_.missing.count(result.setting) == 0) continue;
    result.verdict = doubts_.missing.count(result.setting) > 0 ? kNotApplied : kNoVerdict;
    result.mean_verdict = "";
  }
  // Settings without a time come last.
  std::stable_sort(settings_.begin(), settings_.end(),
                   [reference_ms](const SettingResult& a, const SettingResult& b) {
                     const double one = judged_ms(a, reference_ms);
                     const double other = judged_ms(b, reference_ms);
                     return std::isnan(other) ? !std::isnan(one) : one < other;
                   });
}

bool Ranking::finds_regression() const {
  return !with(Verdict::kWorse).empty() || !with_slow_steps(SlowSteps::kOfTest).empty();
}

std::string Ranking::best() const {
  const auto better = with(Verdict::kBetter);
  return better.empty() ? "" : better.front()->setting;
}

bool Ranking::has_reference() const {
  return doubts_.missing.count(reference_) == 0;
}

double Ranking::confidence() const {
  return core::confidence_of_each(rules_.together, settings_.size() - 1);
}

std::vector<const SettingResult*> Ranking::with(Verdict verdict) const {
  std::vector<const SettingResult*> found;
  for (const SettingResult& result : settings_)
    if (result.setting != reference_ && direction_of(result) == verdict &&
        slow_steps_of(result) == SlowSteps::kNone)
      found.push_back(&result);
  if (verdict != Verdict::kBetter) return found;
  // Evidence of several runs comes before that of one, and what can be compared before all.
  std::stable_partition(found.begin(), found.end(),
                        [this](const SettingResult* result) { return knows_runs(*result); });
  std::stable_partition(found.begin(), found.end(),
                        [this](const SettingResult* result) { return is_like_reference(*result); });
  return found;
}

std::vector<const SettingResult*> Ranking::with_slow_steps(SlowSteps slow) const {
  std::vector<const SettingResult*> found;
  for (const SettingResult& result : settings_)
    if (result.setting != reference_ && slow_steps_of(result) == slow) found.push_back(&result);
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
  const bool known = std::all_of(same.begin(), same.end(), [this](const SettingResult* result) {
    return knows_runs(*result);
  });
  const char* here = known ? "" : " in these runs";
  if (same.size() == 1)
    text += fmt::format(" {} takes the same time within {:g} %{} ({}).", same[0]->setting,
                        rules_.tolerance_percent, here, certainty(*same[0]));
  if (same.size() > 1)
    text += fmt::format(" {} settings take the same time within {:g} %{}.", same.size(),
                        rules_.tolerance_percent, here);
  const auto worse = with(Verdict::kWorse);
  if (!worse.empty())
    text += fmt::format(" {} {}.", core::counted(worse.size(), "setting is", "settings are"),
                        slower_by(worse));
  return text;
}

// Returns "b-x is 3.3 % faster than a-x in its steady steps (95 %: …), but over all profiled steps
// it is 4.7 % slower, beyond the noise between runs".
std::string Ranking::contradiction_in_words(const SettingResult& result) const {
  const Verdict steady = model::verdict_of(Cell(result.verdict));
  const std::string certain = certainty(result);
  std::string text;
  if (steady == Verdict::kSame) {
    text = fmt::format("{} takes the same time within {:g} % in its steady steps ({})",
                       result.setting, rules_.tolerance_percent, certain);
  } else if (steady == Verdict::kUnclear) {
    text = fmt::format("whether {} is {} in its steady steps is unclear ({})", result.setting,
                       result.change_percent < 0 ? "slower" : "faster", certain);
  } else {
    text = fmt::format("{} is {} than {} in its steady steps ({})", result.setting,
                       faster_or_slower(result.change_percent), reference_, certain);
  }
  return fmt::format("{}, but over all profiled steps it is {}, beyond the noise between runs",
                     text, faster_or_slower(result.mean_change_percent));
}

std::string Ranking::slow_steps_in_words() const {
  std::string text;
  for (const SlowSteps slow : {SlowSteps::kOfTest, SlowSteps::kOfBaseline}) {
    for (const SettingResult* result : with_slow_steps(slow)) {
      std::string words = contradiction_in_words(*result);
      if (words.starts_with("whether ")) words.front() = 'W';
      text += fmt::format(" {}.", words);
    }
  }
  return text;
}

std::vector<std::string> Ranking::doubts() const {
  std::vector<std::string> texts = doubts_.sentences();
  for (const SlowSteps slow : {SlowSteps::kOfTest, SlowSteps::kOfBaseline})
    for (const SettingResult* result : with_slow_steps(slow))
      texts.push_back(contradiction_in_words(*result) + ".");
  return texts;
}

std::string Ranking::answer() const {
  if (!has_reference()) return "No verdict: " + core::join(doubts_.sentences(), " ");
  std::string text = choice_in_words() + slow_steps_in_words();
  for (const std::string& doubt : doubts_.sentences())
    text += " " + doubt;
  return text;
}

std::string Ranking::choice_in_words() const {
  const char* here = knows_all_runs() ? "" : " in these runs";
  if (const auto better = with(Verdict::kBetter); !better.empty()) {
    const SettingResult& best = *better.front();
    std::string text = fmt::format(
        "{} {} than {}{} ({}).",
        is_like_reference(best) ? fmt::format("Use {}: it is", best.setting) : best.setting + " is",
        faster_or_slower(best.change_percent), reference_, knows_runs(best) ? "" : " in these runs",
        certainty(best));
    if (better.size() > 1)
      text += fmt::format(" {} faster than {}, too.",
                          core::counted(better.size() - 1, "more setting is", "more settings are"),
                          reference_);
    return text + rest_in_words();
  }
  if (!with_slow_steps(SlowSteps::kOfBaseline).empty())
    return "The steady steps do not decide." + rest_in_words();
  if (const auto unclear = with(Verdict::kUnclear); !unclear.empty()) {
    const SettingResult& first = *unclear.front();
    std::string text =
        fmt::format("Unclear whether {} is {} than {} ({}).", first.setting,
                    first.change_percent < 0 ? "slower" : "faster", reference_, certainty(first));
    if (!first.needed.empty()) text += " " + first.needed + ".";
    return text + rest_in_words();
  }
  const bool overruled = !with_slow_steps(SlowSteps::kOfTest).empty();
  const std::string rest = rest_in_words();
  if (rest.empty() && !overruled)
    return "Unknown whether a setting is faster than " + reference_ + ".";
  const std::string which = judged_ones();
  return fmt::format("Keep {}: {} faster{}{}.{}", reference_,
                     settings_.size() == 2 && which.empty()
                         ? "the other setting is not"
                         : fmt::format("no other setting{} is", which),
                     overruled ? " over all its steps" : "", here, rest);
}

bool Ranking::is_like_reference(const SettingResult& result) const {
  return !doubts_.other_work.contains(result.setting) &&
         !doubts_.other_ranks.contains(result.setting);
}

std::string Ranking::judged_ones() const {
  if (!doubts_.missing.empty()) return " that was applied";
  if (!with(Verdict::kUnknown).empty()) return " that is compared";
  return doubts_.without_good_run.empty() ? "" : " that ran well";
}

std::string Ranking::measure_more(const std::string& sweep_folder) const {
  // A sweep that began with one run of each setting has no room for a second.
  const bool has_repeats = std::any_of(settings_.begin(), settings_.end(),
                                       [](const SettingResult& one) { return one.runs > 1; });
  if (sweep_folder.empty()) return "keep repeat1, repeat2, ... of each in its folder";
  if (!has_repeats) return "assay sweep run --repeat 3, with -o of another folder";
  return fmt::format("assay sweep run --resume --repeat N -o {}", core::shell_quoted(sweep_folder));
}

std::string Ranking::next_of_best(const std::string& sweep_folder) const {
  const SettingResult& best = *with(Verdict::kBetter).front();
  if (doubts_.other_ranks.contains(best.setting)) return next_of_other_ranks(best.setting);
  const std::string with_what = sweep_folder.empty()     ? best.setting
                                : best.variables.empty() ? "without these variables"
                                                         : "with " + best.variables;
  const std::string failed =
      doubts_.failed.count(best.setting) == 0
          ? ""
          : fmt::format("find out why runs of {} failed (run_output.log in their folders), then ",
                        best.setting);
  const std::string repeat =
      knows_runs(best) ? ""
                       : fmt::format(" One run a setting cannot tell the noise between runs: {}.",
                                     measure_more(sweep_folder));
  std::string what = fmt::format("{} {}", sweep_folder.empty() ? "use" : "run", with_what);
  if (doubts_.other_work.contains(best.setting))
    what = fmt::format("find out whether {} does the work of {} in another way", best.setting,
                       reference_);
  return fmt::format("Next: {}{}. {} says where the time is saved.{}", failed, what,
                     best.comparison, repeat);
}

// Says what to look at where slow steps contradict the steady ones; "" where none do.
std::string Ranking::next_of_slow_steps() const {
  for (const SlowSteps slow : {SlowSteps::kOfBaseline, SlowSteps::kOfTest}) {
    const auto found = with_slow_steps(slow);
    if (found.empty()) continue;
    const SettingResult& first = *found.front();
    const bool of_test = slow == SlowSteps::kOfTest;
    return fmt::format(
        "Next: {}find out what the steps of {} do that are not steady (sheet Steps of {}): they "
        "come back in its runs, so they belong to it.",
        of_test ? fmt::format("stay with {}, and ", reference_) : "",
        of_test ? first.setting : reference_, first.comparison);
  }
  return "";
}

std::string Ranking::next_of_other_ranks(const std::string& setting) const {
  return fmt::format("Next: profile the same ranks of {} and {}: other ranks do other work.",
                     setting, reference_);
}

std::string Ranking::next(const std::string& sweep_folder) const {
  if (!has_reference())
    return "Next: see that the variables reach the ranks and are ones that the loaded library has, "
           "and "
           "begin a sweep anew.";
  if (!with(Verdict::kBetter).empty()) return next_of_best(sweep_folder);
  if (std::string slow = next_of_slow_steps(); !slow.empty()) return slow;
  const bool lacks_runs =
      !knows_all_runs() || (doubts_.missing.empty() && !with(Verdict::kUnknown).empty());
  if (lacks_runs || !with(Verdict::kUnclear).empty())
    return fmt::format(
        "Next: measure more runs of each setting: {}. Choose their number now and judge by all of "
        "them: whoever adds runs until a difference shows finds one that is not there about twice "
        "as often as {:g} %.",
        measure_more(sweep_folder), kPercent * (1 - rules_.together));
  if (!doubts_.missing.empty())
    return "Next: see that the variables reach the ranks and are ones that the loaded library has, "
           "and begin a sweep anew: what was not applied may be faster.";
  if (!doubts_.other_ranks.empty()) return next_of_other_ranks(*doubts_.other_ranks.begin());
  if (const auto worse = with(Verdict::kWorse); !worse.empty())
    return fmt::format("Next: nothing to change. {} says where {} loses its time.",
                       worse.back()->comparison, worse.back()->setting);
  return "Next: nothing to change.";
}

std::vector<model::Column> Ranking::columns() const {
  std::vector<model::Column> columns = {
      {.name = "setting"},
      {.name = "runs", .description = "that went well"},
      {.name = "steps", .description = "profiled, over all runs"},
      {.name = "step (ms)",
       .unit = "ms",
       .better = model::Better::kLower,
       .description = "steady period: from a step's first GPU work to that of the next, mean over "
                      "the steady steps"},
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
       .description = "Same: the whole interval lies within the tolerance. Unclear: it holds zero "
                      "and is wider, or the mean verdict contradicts it. Different, or Same, in "
                      "these runs: a setting was run once, so "
                      "the noise between its runs is unknown. Not applied: its variables reached "
                      "no process that loaded NCCL, are none of the library's, or limited no "
                      "collective. No verdict: those of the reference were not applied."},
      {.name = "mean faster by (%)",
       .unit = "%",
       .better = model::Better::kHigher,
       .description = "the mean of all profiled steps, than that of " + reference_},
      {.name = "mean low (%)", .unit = "%", .description = "end of its interval"},
      {.name = "mean high (%)", .unit = "%", .description = "end of its interval"},
      {.name = "mean verdict", .description = "of the mean of all profiled steps"}};
  if (doubts_.planned > 0) {
    columns.push_back({.name = "planned runs", .description = "of each setting"});
    columns.push_back({.name = "variables", .description = "of the setting"});
  }
  return columns;
}

model::Table Ranking::table(const std::string& sweep_folder) const {
  model::Table table{.name = "overview", .title = answer(), .columns = columns()};
  table.notes = {
      next(sweep_folder),
      fmt::format("{} with {}: each interval has {:.4g} % confidence, so that all hold together "
                  "with {:g} %; it counts {}. Same: within {:g} %.{}{}",
                  core::counted(settings_.size() - 1, "comparison"), reference_,
                  kPercent * confidence(), kPercent * rules_.together, counted_in_words(),
                  rules_.tolerance_percent, rules_.noise.empty() ? "" : " ", rules_.noise)};
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
  if (const std::string names = alike_names_in_words(settings_); !names.empty())
    table.notes.push_back(names);
  std::vector<SettingResult> rows = settings_;
  for (const std::string& setting : doubts_.without_good_run)
    rows.push_back(without_result(setting));
  for (const SettingResult& result : rows) {
    std::vector<Cell> row = row_of(result);
    if (doubts_.planned > 0) {
      row.emplace_back(std::int64_t{doubts_.planned});
      row.emplace_back(result.variables);
    }
    table.add_row(std::move(row));
  }
  return table;
}

// What the chart and the figure show, for their titles.
std::string Ranking::headline() const {
  if (!has_reference()) return "No verdict: the settings were not applied";
  const auto better = with(Verdict::kBetter);
  if (!better.empty()) {
    return fmt::format("{} is {} than {}", better[0]->setting,
                       faster_or_slower(better[0]->change_percent), reference_);
  }
  for (const SlowSteps slow : {SlowSteps::kOfTest, SlowSteps::kOfBaseline})
    if (const auto found = with_slow_steps(slow); !found.empty())
      return fmt::format("{} is {} in its steady steps, but {} over all", found[0]->setting,
                         faster_or_slower(found[0]->change_percent),
                         faster_or_slower(found[0]->mean_change_percent));
  if (!with(Verdict::kUnclear).empty())
    return fmt::format("Unclear whether a setting is faster than {}", reference_);
  const auto worse = with(Verdict::kWorse);
  if (worse.empty() && with(Verdict::kSame).empty() && !doubts_.missing.empty())
    return fmt::format("Unknown whether a setting is faster than {}", reference_);
  std::string none = fmt::format("No setting{} is faster than {}", judged_ones(), reference_);
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
