// Whether the runs of a comparison were measured with the same machines and libraries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/compare/configuration.h"

namespace assay::trace {

struct EnvironmentDifference {
  std::string item;       // "NCCL version"
  std::string values;     // "2.28.3 in a, 2.27.1 in b"
  std::string first_run;  // the first that differs: "b/repeat2"
  std::int64_t runs_differing = 0;
};

// Each run of the test against the first of the baseline, and the runs of each side against
// their first; one entry an item and comparison.
std::vector<EnvironmentDifference> environment_differences(const Sides& sides);

// "different NCCL version: 2.28.3 in a, 2.27.1 in b".
std::string in_words(const EnvironmentDifference& difference);

// Runs recorded their environments, so that differences would have been seen.
bool environments_known(const Sides& sides);

}  // namespace assay::trace
