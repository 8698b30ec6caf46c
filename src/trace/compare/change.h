// One figure measured under two configurations: how much it changed, and whether the change is
// real.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "model/table.h"

namespace assay::trace {

enum class Verdict {
  kBetter,
  kWorse,
  kLonger,   // a figure without a good direction
  kShorter,  // the same
  kSimilar,  // the confidence interval holds zero
  kUnknown,  // fewer than two values on a side: no interval
  kOnlyBaseline,
  kOnlyTest,
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
  Verdict verdict = Verdict::kUnknown;
};

// The values of each side must be independent repetitions (runs, steps, or instances), not ranks
// of one step. The interval is Welch's.
Change measure_change(std::span<const double> baseline,
                      std::span<const double> test,
                      model::Better better,
                      double confidence);

// The same for two figures without repetitions: no interval, verdict kUnknown.
Change single_change(double baseline, double test, model::Better better);

// 100 (B-T)/B, or 100 (T-B)/B where higher is better; NaN for a baseline of zero.
double percent_better(double baseline, double test, model::Better better);

// "Better", "Unknown: 1 step", "Only in baseline"; `repetition` is the singular noun.
std::string verdict_text(const Change& change, std::string_view repetition);

bool is_real(Verdict verdict);

}  // namespace assay::trace
