#include "trace/compare/change.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <vector>

#include "core/statistics.h"
#include "core/variance_test.h"

namespace assay::trace {
namespace {

double percent_of(double difference, double baseline, model::Better better) {
  if (baseline == 0) return difference == 0 ? 0 : kNaN;
  const double percent = 100 * difference / std::fabs(baseline);
  if (percent == 0) return 0;  // not -0
  return better == model::Better::kHigher ? percent : -percent;
}

double ratio_of(double baseline, double test) {
  if (baseline != 0) return test / baseline;
  return test == 0 ? 1 : kNaN;
}

Verdict direction(double difference, const Criterion& criterion, model::Better better) {
  if (criterion.evidence != Evidence::kRuns) return Verdict::kDifferent;
  const bool longer = difference > 0;
  switch (better) {
    case model::Better::kLower:
      return longer ? Verdict::kWorse : Verdict::kBetter;
    case model::Better::kHigher:
      return longer ? Verdict::kBetter : Verdict::kWorse;
    case model::Better::kNeither:
      break;
  }
  return longer ? Verdict::kLonger : Verdict::kShorter;
}

// Also works for a change without an interval.
Verdict verdict_for(const Change& change, const Criterion& criterion, model::Better better) {
  if (change.test_count == 0 && change.baseline_count > 0) return Verdict::kOnlyBaseline;
  if (change.baseline_count == 0 && change.test_count > 0) return Verdict::kOnlyTest;
  if (std::isnan(change.low) || std::isnan(change.high)) return Verdict::kUnknown;
  return judge({.low = change.low, .high = change.high},
               {.low = change.percent_low, .high = change.percent_high}, criterion, better);
}

Range range_of(std::span<const double> values) {
  return {.low = core::minimum(values), .high = core::maximum(values)};
}

// Returns the p of a difference of zero.
double probability_of_zero(const core::Difference& difference) {
  if (!difference.valid) return kNaN;
  if (difference.error == 0) return difference.difference == 0 ? 1 : 0;
  // The square of Student's t is distributed as F with 1 degree of freedom, whose tail has no
  // rounding of 1 in it.
  const double t = difference.difference / difference.error;
  return core::f_probability(t * t, 1, difference.degrees_of_freedom);
}

bool is_directed(Verdict verdict) {
  return verdict == Verdict::kBetter || verdict == Verdict::kWorse || verdict == Verdict::kLonger ||
         verdict == Verdict::kShorter || verdict == Verdict::kDifferent;
}

}  // namespace

Verdict judge(const core::Interval& difference,
              const core::Interval& percent,
              const Criterion& criterion,
              model::Better better) {
  const double tolerance = criterion.tolerance_percent;
  if (percent.low >= -tolerance && percent.high <= tolerance) return Verdict::kSame;
  if (difference.low <= 0 && difference.high >= 0) return Verdict::kUnclear;
  return direction(difference.low, criterion, better);
}

double percent_better(double baseline, double test, model::Better better) {
  return percent_of(test - baseline, baseline, better);
}

Change measure_change(std::span<const double> baseline,
                      std::span<const double> test,
                      model::Better better,
                      const Criterion& criterion) {
  Change change = single_change(core::mean(baseline), core::mean(test), better);
  change.baseline_count = baseline.size();
  change.test_count = test.size();
  change.baseline_range = range_of(baseline);
  change.test_range = range_of(test);
  change.baseline_deviation = core::sample_deviation(baseline);
  change.test_deviation = core::sample_deviation(test);
  const bool lone_run = criterion.evidence == Evidence::kLoneRun;
  if (lone_run && baseline.size() == 1) change.baseline_deviation = change.test_deviation;
  if (lone_run && test.size() == 1) change.test_deviation = change.baseline_deviation;
  const core::Difference interval =
      lone_run ? core::student_difference(baseline, test, criterion.confidence)
               : core::welch_difference(baseline, test, criterion.confidence);
  set_difference(change, interval, better, criterion);
  return change;
}

void set_difference(Change& change,
                    const core::Difference& difference,
                    model::Better better,
                    const Criterion& criterion) {
  change.difference = difference.difference;
  change.percent = percent_of(difference.difference, change.baseline, better);
  change.ratio = ratio_of(change.baseline, change.test);
  change.low = difference.low;
  change.high = difference.high;
  const double one_end = percent_of(difference.low, change.baseline, better);
  const double other_end = percent_of(difference.high, change.baseline, better);
  change.percent_low = change.percent_high = kNaN;
  if (!std::isnan(one_end) && !std::isnan(other_end)) {
    change.percent_low = std::min(one_end, other_end);
    change.percent_high = std::max(one_end, other_end);
  }
  change.p = change.p_corrected = probability_of_zero(difference);
  change.verdict = verdict_for(change, criterion, better);
}

void set_ratio(Change& change,
               const core::Difference& of_logarithms,
               model::Better better,
               const Criterion& criterion) {
  core::Difference difference = of_logarithms;
  for (double* end : {&difference.difference, &difference.low, &difference.high})
    *end = change.baseline * std::expm1(*end);
  change.test = change.baseline + difference.difference;
  set_difference(change, difference, better, criterion);
  change.p = change.p_corrected = probability_of_zero(of_logarithms);
}

void judge_together(std::span<Change* const> changes, const Criterion& criterion) {
  std::vector<Change*> ordered;
  for (Change* change : changes)
    if (!std::isnan(change->p)) ordered.push_back(change);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Change* a, const Change* b) { return a->p < b->p; });
  double largest = 0;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    Change& change = *ordered[i];
    largest = std::max(largest, change.p * static_cast<double>(ordered.size() - i));
    change.p_corrected = std::min(largest, 1.0);
    if (is_directed(change.verdict) && change.p_corrected > 1 - criterion.confidence)
      change.verdict = Verdict::kUnclear;
  }
}

bool is_lost_among_many(const Change& change, const Criterion& criterion) {
  return change.verdict == Verdict::kUnclear && change.p < 1 - criterion.confidence;
}

Change single_change(double baseline, double test, model::Better better) {
  Change change;
  change.baseline = baseline;
  change.test = test;
  change.difference = test - baseline;
  change.low = change.high = change.percent_low = change.percent_high = kNaN;
  change.baseline_deviation = change.test_deviation = kNaN;
  change.percent = percent_better(baseline, test, better);
  change.ratio = ratio_of(baseline, test);
  change.baseline_count = std::isnan(baseline) ? 0 : 1;
  change.test_count = std::isnan(test) ? 0 : 1;
  change.baseline_range = {.low = baseline, .high = baseline};
  change.test_range = {.low = test, .high = test};
  change.verdict = verdict_for(change, {}, better);
  return change;
}

std::optional<std::size_t> repetitions_needed(double first_deviation,
                                              double second_deviation,
                                              double difference,
                                              double confidence) {
  constexpr std::size_t kFewest = 2;
  constexpr double kPower = 0.8;
  // student_t() is two-sided, so half of the remaining probability lies on either side.
  constexpr double kPowerTwoSided = 2 * kPower - 1;
  const double first = first_deviation * first_deviation;
  const double second = second_deviation * second_deviation;
  if (first + second == 0) return kFewest;
  const auto enough = [&](std::size_t n) {
    const double freedom = core::difference_freedom(first, n, second, n);
    const double quantiles =
        core::student_t(confidence, freedom) + core::student_t(kPowerTwoSided, freedom);
    return quantiles * std::sqrt((first + second) / static_cast<double>(n)) <=
           std::fabs(difference);
  };
  if (!enough(kMostRepetitions)) return std::nullopt;
  std::size_t least = kFewest;
  for (std::size_t most = kMostRepetitions; least < most;) {
    const std::size_t middle = (least + most) / 2;
    if (enough(middle)) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  return least;
}

std::string percent_text(double percent) {
  const double magnitude = std::fabs(percent);
  return magnitude < 99.95 ? fmt::format("{:.3g}", magnitude) : fmt::format("{:.0f}", magnitude);
}

bool has_equal_means(const Change& change) {
  constexpr double kRoundingPercent = 1e-9;
  return std::fabs(change.percent) < kRoundingPercent;
}

std::string less_or_more_in_words(const Change& change) {
  if (has_equal_means(change)) return "no change";
  return percent_text(change.percent) + (change.percent >= 0 ? " % less" : " % more");
}

std::string three_digits(double number) {
  return number < 99.95 ? fmt::format("{:#.3g}", number) : fmt::format("{:.0f}", number);
}

std::string needed_in_words(const Change& change,
                            const Criterion& criterion,
                            std::string_view repetition,
                            Length length) {
  if (change.verdict != Verdict::kUnclear || std::isnan(change.percent)) return "";
  const double percent = std::max(std::fabs(change.percent), criterion.tolerance_percent);
  const auto needed = repetitions_needed(change.baseline_deviation, change.test_deviation,
                                         change.baseline * percent / 100, criterion.confidence);
  // The present repetitions left the change unclear, so the advice is at least one more.
  const std::size_t present = std::min(change.baseline_count, change.test_count);
  const std::string count = needed ? fmt::format("About {}", std::max(*needed, present + 1))
                                   : fmt::format("More than {}", kMostRepetitions);
  const std::string words = fmt::format("{} {}s of each would tell", count, repetition);
  if (length == Length::kShort) return within_sentence(words);
  return fmt::format("{} a difference of {} % apart", words, percent_text(percent));
}

std::string within_sentence(std::string verdict) {
  verdict[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(verdict[0])));
  return verdict;
}

std::string status_meaning(const Criterion& criterion) {
  return fmt::format(
      "Same: the whole interval lies within {:g} %. Unclear: it is wider and holds zero, or the "
      "difference is not certain once corrected for the number of rows (Holm); more repetitions "
      "are needed. Different, or Same, in these runs: a side was run once, and the noise between "
      "its "
      "runs is not known.",
      criterion.tolerance_percent);
}

std::string verdict_text(const Change& change, std::string_view repetition) {
  const std::size_t fewest = std::min(change.baseline_count, change.test_count);
  if (change.verdict == Verdict::kSame && (repetition != "run" || fewest == 1))
    return model::kSameInTheseRuns;
  if (change.verdict != Verdict::kUnknown) return model::verdict_word(change.verdict);
  return fewest == 0 ? fmt::format("Unknown: no {}s", repetition)
                     : fmt::format("Unknown: {} {}", fewest, repetition);
}

}  // namespace assay::trace
