// Tells whether two sides did the same work, by how much a step of theirs does.
#pragma once

#include <limits>
#include <span>
#include <string>

#include "trace/compare/configuration.h"

namespace assay::trace {

// Means over ranks and runs of work_table(); NaN for what is not known.
struct StepWork {
  double kernels = std::numeric_limits<double>::quiet_NaN();
  double elements = std::numeric_limits<double>::quiet_NaN();  // of a kernel's inputs
  double collectives = std::numeric_limits<double>::quiet_NaN();
  double message_bytes = std::numeric_limits<double>::quiet_NaN();
};

// Reports that an earlier analysis left do not tell it.
StepWork step_work(std::span<const RankReport> ranks);

// Returns what a step of the test has where it differs much from one of the baseline, "66 kernels,
// not 60", else "".
std::string work_difference(const StepWork& baseline, const StepWork& test);

// Returns a sentence without a full stop on tests with this difference. Fused kernels, and other
// algorithms, do the same work with other kernels, so it is a caution.
std::string other_work_in_words(const std::string& baseline,
                                std::span<const std::string> tests,
                                const std::string& difference);

}  // namespace assay::trace
