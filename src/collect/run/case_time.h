// What the time of a collection went to: kernels, or what measuring them takes besides.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"

namespace assay::collect {

// Of a measured case.
struct CaseTime {
  std::string operator_name;
  double wall_ms = 0;     // from the end of the worker's case before to the end of this one
  double kernels_ms = 0;  // of it the device's, with launches of this case

  [[nodiscard]] double overhead_ms() const { return wall_ms - kernels_ms; }
};

struct TimeUse {
  std::string operator_name;  // "all"
  std::int64_t cases = 0;
  double wall_seconds = 0;
  double kernel_seconds = 0;
  double overhead_median_ms = 0;  // of a case
  double overhead_p90_ms = 0;

  [[nodiscard]] double share() const;  // of the wall time, kernels'
};

// By operator in the order of their first cases, then "all" where there are several.
std::vector<TimeUse> time_use(const std::vector<CaseTime>& times);

model::Table time_table(const std::vector<TimeUse>& uses);

}  // namespace assay::collect
