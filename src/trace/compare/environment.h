// Checks whether the runs of a comparison were measured with the same machines and libraries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/compare/configuration.h"

namespace assay::trace {

struct EnvironmentDifference {
  std::string item;       // "NCCL version"
  std::string values;     // "2.28.3 in a, 2.27.1 in b"
  std::string first_run;  // the first run that differs: "b/repeat2"
  std::int64_t runs_differing = 0;
};

// Compares each run of the test with the first run of the baseline, and the runs of each side with
// their first run. Returns one entry for each item and comparison.
std::vector<EnvironmentDifference> environment_differences(const Sides& sides);

// Returns "different NCCL version: 2.28.3 in a, 2.27.1 in b".
std::string in_words(const EnvironmentDifference& difference);

// Returns whether the runs recorded their environments, so that differences would be visible.
bool environments_known(const Sides& sides);

}  // namespace assay::trace
