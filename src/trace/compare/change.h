// The change of one figure between two configurations, and whether that change is real.
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

// What the values of both sides are. A run of one command differs from the next by more than its
// steps do, so one run of a side cannot say that one command is better than the other.
enum class Evidence {
  kRuns,     // several runs a side
  kLoneRun,  // several runs of one side, whose spread is taken for that of the other's only run
  kOneRun,   // the steps, or instances, of one run a side
};

// The limits that decide the verdict on a difference.
struct Criterion {
  double confidence = 0.95;                             // confidence level of the interval
  double tolerance_percent = model::kTolerancePercent;  // share of the baseline's mean
  Evidence evidence = Evidence::kRuns;
};

// The smallest and the largest of some values; NaN when there are none.
struct Range {
  double low = 0;
  double high = 0;
};

// Percentages are relative to the baseline's mean and positive when the test is better; for a
// figure with no better direction, positive means that the test is smaller. NaN where there is no
// value.
struct Change {
  double baseline = 0;  // mean
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
  Range baseline_range;  // range of the repetitions
  Range test_range;
  double baseline_deviation =
      0;  // standard deviations of the repetitions; a lone run has the other's
  double test_deviation = 0;
  Verdict verdict = Verdict::kUnknown;
  double p = kNaN;            // of a difference of zero, by the same test as the interval
  double p_corrected = kNaN;  // for the number of changes that were judged together
};

// Returns the verdict that an interval allows. `difference` is the interval of test - baseline, and
// `percent` is the same interval in percent of the baseline (NaN for a baseline of zero), in either
// direction.
//   kSame     `percent` lies within ±tolerance, ends included. This holds even when the interval
//             excludes zero: a real difference that is too small to matter is neither better nor
//             worse.
//   kUnclear  `difference` contains zero (ends included) and `percent` reaches beyond the
//             tolerance.
//   otherwise the direction of the difference: better or worse, longer or shorter.
//             Without Evidence::kRuns it is kDifferent instead.
Verdict judge(const core::Interval& difference,
              const core::Interval& percent,
              const Criterion& criterion,
              model::Better better);

// The values of each side must be independent repetitions (runs, steps, or instances), not the
// ranks of one step. The interval is that of Welch's t test; of Student's for Evidence::kLoneRun.
Change measure_change(std::span<const double> baseline,
                      std::span<const double> test,
                      model::Better better,
                      const Criterion& criterion);

// Gives a change this difference, with what follows from it: interval, percentages, p and verdict.
void set_difference(Change& change,
                    const core::Difference& difference,
                    model::Better better,
                    const Criterion& criterion);

// Does so with the difference between the logarithms of both sides, and gives the test its mean.
void set_ratio(Change& change,
               const core::Difference& of_logarithms,
               model::Better better,
               const Criterion& criterion);

// Corrects verdicts for their number, so that with the criterion's confidence no one of them claims
// a difference that is not there: a change whose corrected p is above 1 - confidence, but is not
// the same, is unclear. The correction is Holm's (S. Holm, A Simple Sequentially Rejective Multiple
// Test Procedure, Scandinavian Journal of Statistics 6, 1979), which holds however the changes
// depend on each other. Intervals stay those of each change alone.
void judge_together(std::span<Change* const> changes, const Criterion& criterion);

// Whether a change is unclear only because it was judged together with others.
bool is_lost_among_many(const Change& change, const Criterion& criterion);

// Compares two figures that have no repetitions: there is no interval, and the verdict is kUnknown.
Change single_change(double baseline, double test, model::Better better);

// Returns 100 (B-T)/B, or 100 (T-B)/B where higher is better; NaN for a baseline of zero.
double percent_better(double baseline, double test, model::Better better);

// No user would make more repetitions than this.
inline constexpr std::size_t kMostRepetitions = 1000;

// Returns how many repetitions each side needs so that Welch's test at this confidence
// distinguishes a difference of `difference` from zero with a probability of 80 %. It is the
// smallest n for which
//   (t(confidence, v) + t(power, v)) sqrt((s1^2 + s2^2) / n) <= |difference|,
// where v is core::difference_freedom() for n values a side (the formula of S.-C.
// Chow, J. Shao and H. Wang, Sample Size Calculations in Clinical Research, section 3.2, with
// Student's t in place of the normal quantiles). Returns std::nullopt for more than
// kMostRepetitions.
std::optional<std::size_t> repetitions_needed(double first_deviation,
                                              double second_deviation,
                                              double difference,
                                              double confidence);

// Says how many repetitions would settle an unclear change. kShort: "about 9 runs of each would
// tell"; kWhole: "About 9 runs of each would tell a difference of 21.2 % apart". The difference is
// the observed one, but at least the tolerance. `repetition` is the singular noun. Empty for other
// verdicts and for a baseline of zero.
enum class Length { kShort, kWhole };
std::string needed_in_words(const Change& change,
                            const Criterion& criterion,
                            std::string_view repetition,
                            Length length = Length::kWhole);

// Returns "Better", "Same in these runs", "Unknown: 1 step" or "Only in baseline"; `repetition` is
// the singular noun.
std::string verdict_text(const Change& change, std::string_view repetition);

// Makes the first letter of a verdict lower-case, for use inside a sentence.
std::string within_sentence(std::string verdict);

// Explains the verdicts, for the heading of their column.
std::string status_meaning(const Criterion& criterion);

// Returns a percentage without its sign: three significant digits below 100, a whole number from
// 100 on.
std::string percent_text(double percent);

// Returns whether the means are equal but for rounding.
bool has_equal_means(const Change& change);

// Returns "2.5 % less", "2.5 % more" or "no change".
std::string less_or_more_in_words(const Change& change);

// Returns three digits, zeros among them, and more for a number of a thousand and above, so that
// the numbers of a title are alike.
std::string three_digits(double number);

}  // namespace assay::trace
