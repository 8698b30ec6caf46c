// Every setting of a sweep beside the baseline: the table that says which one to take.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "model/table.h"

namespace assay::sweep {

// NaN where there is no value.
struct SettingResult {
  std::string setting;
  std::size_t runs = 0;       // that went well
  std::size_t steps = 0;      // over all of them
  double step_ms = 0;         // mean
  double change_percent = 0;  // against the baseline, positive when faster; 0 for itself
  double change_percent_low = 0;
  double change_percent_high = 0;
  std::string verdict;
};

// With so many comparisons against one baseline, each needs this confidence for all of them
// together to be right with `together` (Bonferroni).
double confidence_of_each(double together, std::size_t comparisons);

// The first result is the baseline; the others follow, the fastest first. `repetition` is what
// the intervals count ("run", "step").
model::Table overview(std::span<const SettingResult> results,
                      double together,
                      const std::string& repetition);

}  // namespace assay::sweep
