#include "trace/compare/change.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.h"

namespace assay::trace {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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

Verdict direction(double difference, model::Better better) {
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

Verdict judge(const Change& change, const core::Difference& interval, model::Better better) {
  if (change.test_count == 0 && change.baseline_count > 0) return Verdict::kOnlyBaseline;
  if (change.baseline_count == 0 && change.test_count > 0) return Verdict::kOnlyTest;
  if (!interval.valid) return Verdict::kUnknown;
  if (interval.low <= 0 && interval.high >= 0) return Verdict::kSimilar;
  return direction(interval.difference, better);
}

Range range_of(std::span<const double> values) {
  return {.low = core::minimum(values), .high = core::maximum(values)};
}

}  // namespace

double percent_better(double baseline, double test, model::Better better) {
  return percent_of(test - baseline, baseline, better);
}

Change measure_change(std::span<const double> baseline,
                      std::span<const double> test,
                      model::Better better,
                      double confidence) {
  Change change = single_change(core::mean(baseline), core::mean(test), better);
  change.baseline_count = baseline.size();
  change.test_count = test.size();
  change.baseline_range = range_of(baseline);
  change.test_range = range_of(test);
  const core::Difference interval = core::welch_difference(baseline, test, confidence);
  change.low = interval.low;
  change.high = interval.high;
  const double one_end = percent_of(interval.low, change.baseline, better);
  const double other_end = percent_of(interval.high, change.baseline, better);
  if (!std::isnan(one_end) && !std::isnan(other_end)) {
    change.percent_low = std::min(one_end, other_end);
    change.percent_high = std::max(one_end, other_end);
  }
  change.verdict = judge(change, interval, better);
  return change;
}

Change single_change(double baseline, double test, model::Better better) {
  Change change;
  change.baseline = baseline;
  change.test = test;
  change.difference = test - baseline;
  change.low = change.high = change.percent_low = change.percent_high = kNaN;
  change.percent = percent_better(baseline, test, better);
  change.ratio = ratio_of(baseline, test);
  change.baseline_count = std::isnan(baseline) ? 0 : 1;
  change.test_count = std::isnan(test) ? 0 : 1;
  change.baseline_range = {.low = baseline, .high = baseline};
  change.test_range = {.low = test, .high = test};
  change.verdict = judge(change, core::Difference{}, better);
  return change;
}

std::string verdict_text(const Change& change, std::string_view repetition) {
  switch (change.verdict) {
    case Verdict::kBetter:
      return "Better";
    case Verdict::kWorse:
      return "Worse";
    case Verdict::kLonger:
      return "Longer";
    case Verdict::kShorter:
      return "Shorter";
    case Verdict::kSimilar:
      return "Similar";
    case Verdict::kOnlyBaseline:
      return "Only in baseline";
    case Verdict::kOnlyTest:
      return "Only in test";
    case Verdict::kUnknown:
      break;
  }
  const std::size_t fewest = std::min(change.baseline_count, change.test_count);
  return fewest == 0 ? fmt::format("Unknown: no {}s", repetition)
                     : fmt::format("Unknown: {} {}", fewest, repetition);
}

bool is_real(Verdict verdict) {
  return verdict == Verdict::kBetter || verdict == Verdict::kWorse || verdict == Verdict::kLonger ||
         verdict == Verdict::kShorter;
}

}  // namespace assay::trace
