// One figure measured under two configurations: how much it changed, and whether the change is
// real.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/statistics.h"
#include "model/table.h"
#include "model/verdict.h"

namespace assay::trace {

using model::Verdict;

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// What a difference is held against.
struct Criterion {
  double confidence = 0.95;                             // of the interval
  double tolerance_percent = model::kTolerancePercent;  // of the baseline's mean
};

// The extremes of some values; NaN without any.
struct Range {
  double low = 0;
  double high = 0;
};

// Percentages are of the baseline's mean, and positive when the test is better (for a figure
// without a good direction: when it is smaller). NaN where there is no value.
struct Change {
  double baseline = 0;  // means
  double test = 0;
  double difference = 0;  // test - baseline
  double low = 0;         // confidence interval of `difference`
  double high = 0;
  double percent = 0;
  double percent_low = 0;  // the same interval in percent
  double percent_high = 0;
  double ratio = 0;  // test / baseline
  std::size_t baseline_count = 0;
  std::size_t test_count = 0;
  Range baseline_range;  // of the repetitions
  Range test_range;
  double baseline_deviation = 0;  // standard deviations of the repetitions
  double test_deviation = 0;
  Verdict verdict = Verdict::kUnknown;
};

// The verdict that an interval allows. `difference` is the interval of test - baseline, `percent`
// the same in percent of the baseline (NaN for a baseline of zero), in either direction.
//   kSame     `percent` lies within ±tolerance, ends included. So does an interval that leaves out
//             zero: a real difference that is too small to matter is not called better or worse.
//   kUnclear  `difference` holds zero (ends included) and `percent` reaches beyond the tolerance.
//   otherwise the direction of the difference: better or worse, longer or shorter.
Verdict judge(const core::Interval& difference,
              const core::Interval& percent,
              double tolerance_percent,
              model::Better better);

// The values of each side must be independent repetitions (runs, steps, or instances), not ranks
// of one step. The interval is Welch's.
Change measure_change(std::span<const double> baseline,
                      std::span<const double> test,
                      model::Better better,
                      const Criterion& criterion);

// The same for two figures without repetitions: no interval, verdict kUnknown.
Change single_change(double baseline, double test, model::Better better);

// 100 (B-T)/B, or 100 (T-B)/B where higher is better; NaN for a baseline of zero.
double percent_better(double baseline, double test, model::Better better);

// More repetitions than this are nothing that a user would make.
inline constexpr std::size_t kMostRepetitions = 1000;

// How many repetitions each side needs so that Welch's test at this confidence tells a difference
// of `difference` apart from zero with a probability of 80 %: the smallest n for which
//   (t(confidence, v) + t(power, v)) sqrt((s1^2 + s2^2) / n) <= |difference|,
// where v are the Welch-Satterthwaite degrees of freedom of n values a side (the formula of
// S.-C. Chow, J. Shao and H. Wang, Sample Size Calculations in Clinical Research, section 3.2,
// with Student's t in place of the normal quantiles). std::nullopt: more than kMostRepetitions.
std::optional<std::size_t> repetitions_needed(double first_deviation,
                                              double second_deviation,
                                              double difference,
                                              double confidence);

// What would settle an unclear change. kShort: "about 9 runs of each would tell"; kWhole: "About 9
// runs of each would tell a difference of 21.2 % apart". The difference is the one observed, but
// at least the tolerance. `repetition` is the singular noun. Empty for other verdicts and for a
// baseline of zero.
enum class Length { kShort, kWhole };
std::string needed_in_words(const Change& change,
                            const Criterion& criterion,
                            std::string_view repetition,
                            Length length = Length::kWhole);

// "Better", "Unknown: 1 step", "Only in baseline"; `repetition` is the singular noun.
std::string verdict_text(const Change& change, std::string_view repetition);

// A verdict as it stands within a sentence: its first letter small.
std::string within_sentence(std::string verdict);

// What the words mean, for the heading of a column of verdicts.
std::string status_meaning(const Criterion& criterion);

// A percentage to three significant digits, from 100 on to the whole number, without its sign.
std::string percent_text(double percent);

}  // namespace assay::trace
