#include "cli/compared_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/nccl_curves.h"
#include "core/statistics.h"
#include "core/text.h"
#include "trace/compare/all_runs.h"
#include "trace/compare/change.h"
#include "trace/compare/pairs.h"
#include "trace/compare/ranks.h"
#include "trace/compare/timeline_samples.h"

namespace assay::cli {
namespace {

std::string repetition_of(const trace::Headline& headline) {
  return headline.repetition.empty() ? "step" : headline.repetition;
}

sweep::SettingResult baseline_result(const std::string& name,
                                     const std::string& variables,
                                     const trace::Headline& headline) {
  return {.setting = name,
          .variables = variables,
          .runs = headline.baseline_runs,
          .steps = headline.baseline_steps,
          .repetitions = headline.baseline_repetitions,
          .repetition = repetition_of(headline),
          .step_ms = headline.baseline_ms,
          .mean_ms = headline.baseline_mean_ms,
          .change_percent = std::nan(""),
          .change_percent_low = std::nan(""),
          .change_percent_high = std::nan(""),
          .transients = headline.baseline_transients};
}

sweep::SettingResult test_result(const ComparedSetting& test, const trace::Headline& headline) {
  return {.setting = test.name,
          .variables = test.variables,
          .runs = headline.test_runs,
          .steps = headline.test_steps,
          .repetitions = headline.test_repetitions,
          .repetition = repetition_of(headline),
          .step_ms = headline.test_ms,
          .mean_ms = headline.test_mean_ms,
          .change_percent = headline.change_percent,
          .change_percent_low = headline.change_percent_low,
          .change_percent_high = headline.change_percent_high,
          .mean_change_percent = headline.mean_change_percent,
          .mean_change_percent_low = headline.mean_change_percent_low,
          .mean_change_percent_high = headline.mean_change_percent_high,
          .verdict = headline.verdict,
          .mean_verdict = headline.mean_verdict,
          .needed = headline.needed,
          .transients = headline.test_transients,
          .comparison = test.folder.empty() ? test.name + "/Summary_Dashboard"
                                            : (test.folder / "final_analysis_report").string()};
}

void set_steady(sweep::SettingResult& result,
                const trace::Change& change,
                const trace::Criterion& criterion) {
  result.repetitions = change.test_count;
  result.change_percent = change.percent;
  result.change_percent_low = change.percent_low;
  result.change_percent_high = change.percent_high;
  result.verdict = trace::verdict_text(change, "run");
  result.needed = trace::needed_in_words(change, criterion, "run");
}

void set_steady_apart(sweep::SettingResult& result, const trace::Change& change) {
  result.change_percent = change.percent;
  result.change_percent_low = result.change_percent_high = std::nan("");
  result.verdict = trace::kApart;
  result.needed = "";
}

void set_mean(sweep::SettingResult& result, const trace::Change& change) {
  result.mean_change_percent = change.percent;
  result.mean_change_percent_low = change.percent_low;
  result.mean_change_percent_high = change.percent_high;
  result.mean_verdict = trace::verdict_text(change, "run");
}

void set_mean_apart(sweep::SettingResult& result, const trace::Change& change) {
  set_mean(result, change);
  result.mean_verdict = trace::kApart;
}

// Says what the intervals count, and how the changes differ from those of the measured means.
std::string noise_in_words(const trace::JointNoise& noise,
                           const std::vector<sweep::SettingResult>& results) {
  using Kind = trace::JointNoise::Kind;
  std::size_t repeated = 0;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (noise.knows(0, i) || noise.are_apart(0, i)) ++repeated;
  const char* which = repeated < results.size() ? " that were run repeatedly" : "";
  switch (noise.kind()) {
    case Kind::kPair:
      return "";
    case Kind::kPooled:
      return fmt::format(
          "The noise is that of the runs of all settings{}, whose spreads do not differ.", which);
    case Kind::kTrend:
      return fmt::format(
          "Steps are as measured; changes of settings{} are without the trend over the order of "
          "the runs.",
          which);
    case Kind::kBlocks:
      return fmt::format(
          "Steps are as measured, in all runs; changes of settings{} are those within the repeats "
          "that they share with the baseline or, where these are fewer than two, those that the "
          "repeats of all settings tell.",
          which);
  }
  return "";
}

// Says which effect of the order of the runs is taken out of these steps; "" for none.
std::string order_in_words(const trace::JointNoise& noise, const char* steps) {
  using Kind = trace::JointNoise::Kind;
  if (noise.kind() == Kind::kTrend)
    return fmt::format(
        "{} took {} % {} from each run to the next (p {:.1g}), which this ranking and its pairs "
        "take out, and the comparisons of two settings do not",
        steps, trace::percent_text(noise.trend_percent()),
        noise.trend_percent() > 0 ? "more" : "less", noise.p());
  if (noise.kind() == Kind::kBlocks)
    return fmt::format(
        "{} took longer in some repeats than in others, whatever the setting (p {:.1g}): this "
        "ranking and its pairs compare them within repeats, the comparisons of two settings do not",
        steps, noise.p());
  return "";
}

// Returns the setting whose comparison says most: the one to use, or else the one that loses most.
std::string most_telling(const sweep::Ranking& ranking) {
  const std::string best = ranking.best();
  return best.empty() ? ranking.figure().items.back().name : best;
}

// Returns whether a change of that setting is certain, so that it has causes.
bool differs(const sweep::Ranking& ranking) {
  const std::string telling = most_telling(ranking);
  const report::RankingFigure figure = ranking.figure();
  return std::any_of(figure.items.begin(), figure.items.end(), [&](const auto& item) {
    return item.name == telling &&
           (item.verdict == model::Verdict::kBetter || item.verdict == model::Verdict::kWorse ||
            item.verdict == model::Verdict::kDifferent);
  });
}

// The page has a heading of its own before the next step, behind which a sentence begins.
std::string without_heading(std::string next) {
  constexpr std::string_view kHeading = "Next: ";
  if (!next.starts_with(kHeading)) return next;
  next.erase(0, kHeading.size());
  if (!next.empty() && next.front() >= 'a' && next.front() <= 'z') next.front() += 'A' - 'a';
  return next;
}

}  // namespace

ComparedSettings::ComparedSettings(const std::string& baseline,
                                   const std::string& baseline_variables,
                                   std::vector<ComparedSetting> tests,
                                   const trace::CompareRequest& request,
                                   SweepRuns runs)
    : request_(request), runs_(std::move(runs)) {
  std::vector<sweep::SettingResult> results;
  for (ComparedSetting& test : tests) {
    trace::CommandResult& result = test.result;
    if (figures_.empty()) figures_.push_back(*result.baseline_figures);
    figures_.push_back(*result.test_figures);
    for (trace::SettingFigures* setting : {&figures_.front(), &figures_.back()}) {
      setting->positions = runs_.positions[setting->label];
      setting->sessions = runs_.sessions[setting->label];
    }
    if (result.evidence != nullptr) {
      figures_.front().gpu_name = result.evidence->baseline.glimpse.gpu_name;
      figures_.back().gpu_name = result.evidence->test.glimpse.gpu_name;
      evidence_.push_back(std::move(*result.evidence));
    }
    if (!result.headline) continue;
    const trace::Headline& headline = *result.headline;
    // A baseline that was run once counts its run beside a test that was run repeatedly, and its
    // steps beside one that was not.
    const bool counts_runs = headline.repetition == "run";
    if (results.empty() || (counts_runs && results.front().repetition != "run")) {
      results.resize(std::max<std::size_t>(results.size(), 1));
      results.front() = baseline_result(baseline, baseline_variables, headline);
    }
    results.push_back(test_result(test, headline));
  }
  if (!figures_.empty()) tell_unlike_work();
  tell_repeated_runs();
  find_unkept_limits();
  if (!figures_.empty()) curves_ = nccl_curves(figures_.front().gpu_name);
  if (results.empty()) return;
  std::string noise = judge_together(results);
  ranking_.emplace(std::move(results),
                   sweep::RankingRules{.together = kTogether,
                                       .tolerance_percent = request.tolerance_percent,
                                       .noise = std::move(noise)},
                   runs_.doubts);
}

// Ranks that differ do other work anyway.
void ComparedSettings::tell_unlike_work() {
  std::map<std::string, std::vector<std::string>> other_ranks;
  std::map<std::string, std::vector<std::string>> other_work;
  const trace::SettingFigures& baseline = figures_.front();
  for (const trace::SettingFigures& setting : figures_) {
    const std::string ranks =
        trace::different_ranks({baseline.label, baseline.ranks}, {setting.label, setting.ranks});
    const std::string work = trace::work_difference(baseline.work, setting.work);
    if (!ranks.empty())
      other_ranks[ranks].push_back(setting.label);
    else if (!work.empty())
      other_work[work].push_back(setting.label);
  }
  for (const auto& [difference, settings] : other_ranks) {
    runs_.doubts.others.push_back(
        fmt::format("The traces of {} are not of the same ranks as those of {}: {}",
                    core::join(settings, ", "), baseline.label, difference));
    runs_.doubts.other_ranks.insert(settings.begin(), settings.end());
  }
  for (const auto& [difference, settings] : other_work) {
    runs_.doubts.others.push_back(trace::other_work_in_words(baseline.label, settings, difference));
    runs_.doubts.other_work.insert(settings.begin(), settings.end());
  }
}

void ComparedSettings::tell_repeated_runs() {
  const auto tell = [this](std::string words) {
    if (!words.empty()) runs_.doubts.others.push_back(std::move(words));
  };
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    const trace::SettingFigures& a = figures_[i];
    tell(trace::repeated_in_words(a.label, a.repeated));
    for (std::size_t j = i + 1; j < figures_.size(); ++j)
      tell(trace::shared_in_words(a.label, a.fingerprints, figures_[j].label,
                                  figures_[j].fingerprints));
  }
}

void ComparedSettings::find_unkept_limits() {
  const std::vector<trace::BandwidthPoint> points = trace::bandwidth_points(figures_);
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    const auto limit = runs_.channel_limits.find(figures_[i].label);
    if (limit == runs_.channel_limits.end()) continue;
    std::string words = unkept_in_words(limit->second, points, i);
    if (!words.empty()) runs_.doubts.missing.emplace(figures_[i].label, std::move(words));
  }
  for (trace::SettingFigures& setting : figures_)
    setting.is_applied = runs_.doubts.missing.count(setting.label) == 0;
}

void ComparedSettings::tell_order(const trace::JointNoise& noise,
                                  const trace::JointNoise& mean_noise,
                                  std::span<const trace::JointRuns> runs) {
  std::vector<std::string>& others = runs_.doubts.others;
  const std::string of_steady = order_in_words(noise, "Steps");
  const std::string of_all = order_in_words(mean_noise, "All profiled steps");
  if (!of_steady.empty()) others.push_back(of_steady);
  if (!of_all.empty() && !has_the_effect_of(mean_noise, noise)) others.push_back(of_all);
  if (!of_steady.empty()) return;
  for (const trace::FarRun& run : trace::far_runs(runs))
    others.push_back(
        fmt::format("Steps of {}, repeat {}, took {} % {} than those of its other runs",
                    figures_[run.setting].label, run.block, trace::percent_text(run.percent),
                    run.percent > 0 ? "more" : "less"));
}

void ComparedSettings::tell_apart(const trace::JointNoise& noise) {
  for (std::size_t i = 1; i < figures_.size(); ++i)
    if (noise.are_apart(0, i))
      runs_.doubts.others.push_back(fmt::format(
          "Repeats differ, and {} shares fewer than two with {}: the two are not compared",
          figures_[i].label, figures_.front().label));
}

std::string ComparedSettings::judge_together(std::vector<sweep::SettingResult>& results) {
  if (results.size() != figures_.size()) return "";
  std::vector<trace::JointRuns> steady;
  std::vector<trace::JointRuns> all;
  for (const trace::SettingFigures& setting : figures_) {
    steady.push_back(trace::joint_runs(setting, trace::kTotalTime));
    all.push_back(trace::joint_runs(setting, trace::kAllSteps));
  }
  const trace::Criterion criterion{
      .confidence = core::confidence_of_each(kTogether, results.size() - 1),
      .tolerance_percent = request_.tolerance_percent};
  const trace::JointNoise noise(steady);
  const trace::JointNoise mean_noise(all);
  tell_order(noise, mean_noise, steady);
  tell_apart(noise);
  std::size_t shared = 0;  // runs of the baseline that some change counts
  for (std::size_t i = 1; i < results.size(); ++i) {
    if (noise.knows(0, i)) {
      const trace::Change change = noise.change(0, i, criterion);
      set_steady(results[i], change, criterion);
      shared = std::max(shared, change.baseline_count);
    } else if (noise.are_apart(0, i)) {
      set_steady_apart(results[i], noise.change_apart(0, i));
    }
    if (mean_noise.knows(0, i))
      set_mean(results[i], mean_noise.change(0, i, criterion));
    else if (mean_noise.are_apart(0, i))
      set_mean_apart(results[i], mean_noise.change_apart(0, i));
  }
  if (shared > 0) results.front().repetitions = shared;
  return noise_in_words(noise, results);
}

trace::CompareOptions ComparedSettings::options() const {
  return {.compat = request_.options.compat,
          .criterion = {.confidence = kTogether, .tolerance_percent = request_.tolerance_percent}};
}

model::Book ComparedSettings::report() const {
  return trace::all_runs_report(figures_, options(), curves_);
}

std::string ComparedSettings::pairs_in_words() const {
  if (figures_.size() < 2) return "";
  return trace::pairs_in_words(trace::compare_pairs(figures_, options().criterion));
}

trace::PageOpening ComparedSettings::opening(const model::Book& book,
                                             const std::string& where) const {
  trace::PageOpening opening{.title = book.title,
                             .answer = {.sentence = ranking_->answer(),
                                        .next = {{without_heading(ranking_->next(where))}}},
                             .ranking = ranking_->figure(),
                             .first = most_telling(*ranking_),
                             .differs = differs(*ranking_),
                             .provenance = {},
                             .tables = &book,
                             .settings = figures_,
                             .curves = curves_,
                             .criterion = options().criterion};
  for (const std::string& doubt : ranking_->doubts())
    opening.answer.warnings.push_back({doubt, "overview"});
  if (const std::string pairs = pairs_in_words(); !pairs.empty())
    opening.answer.why.push_back({pairs, "pairs"});
  return opening;
}

}  // namespace assay::cli
