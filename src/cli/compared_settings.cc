#include "cli/compared_settings.h"

#include <algorithm>
#include <cmath>

#include "cli/nccl_curves.h"
#include "trace/compare/all_runs.h"
#include "trace/compare/pairs.h"

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
          .needed = headline.needed,
          .transients = headline.test_transients,
          .comparison = test.folder.empty() ? test.name + "/Summary_Dashboard"
                                            : (test.folder / "final_analysis_report").string()};
}

// Returns the setting whose comparison says most: the one to use, or else the one that loses most.
std::string most_telling(const report::RankingFigure& figure) {
  const auto faster = std::find_if(
      figure.items.begin(), figure.items.end(),
      [](const report::RankedItem& item) { return item.verdict == model::Verdict::kBetter; });
  return faster == figure.items.end() ? figure.items.back().name : faster->name;
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
                                   const trace::CompareRequest& request)
    : request_(request) {
  std::vector<sweep::SettingResult> results;
  for (ComparedSetting& test : tests) {
    trace::CommandResult& result = test.result;
    if (figures_.empty()) figures_.push_back(*result.baseline_figures);
    figures_.push_back(*result.test_figures);
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
  if (!figures_.empty()) curves_ = nccl_curves(figures_.front().gpu_name);
  if (results.empty()) return;
  ranking_.emplace(
      std::move(results),
      sweep::RankingRules{.together = kTogether, .tolerance_percent = request.tolerance_percent});
}

trace::CompareOptions ComparedSettings::options() const {
  return {.compat = request_.options.compat,
          .criterion = {.confidence = kTogether, .tolerance_percent = request_.tolerance_percent}};
}

model::Book ComparedSettings::report() const {
  return trace::all_runs_report(figures_, options(), curves_);
}

std::string ComparedSettings::pairs_in_words() const {
  return trace::pairs_in_words(trace::compare_pairs(figures_, options().criterion));
}

trace::PageOpening ComparedSettings::opening(const model::Book& book,
                                             const std::string& where) const {
  trace::PageOpening opening{.title = book.title,
                             .answer = {.sentence = ranking_->answer(),
                                        .next = {{without_heading(ranking_->next(where))}}},
                             .ranking = ranking_->figure(),
                             .first = most_telling(ranking_->figure()),
                             .provenance = {},
                             .tables = &book,
                             .settings = figures_,
                             .curves = curves_,
                             .criterion = options().criterion};
  if (const std::string pairs = pairs_in_words(); !pairs.empty())
    opening.answer.why.push_back({pairs, "pairs"});
  return opening;
}

}  // namespace assay::cli
