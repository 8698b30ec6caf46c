// Tells whether two sides did the same work, by how much a step of theirs does.
#pragma once

#include <map>
#include <span>
#include <string>

#include "trace/compare/configuration.h"

namespace assay::trace {

// Figures of work_table() by rank, means over the steps of all runs that tell it; of other ranks it
// is unknown. Steps that not all ranks have whole do not count.
struct StepWork {
  std::map<int, double> kernels = {};
  std::map<int, double> elements = {};  // of a kernel's inputs
  std::map<int, double> collectives = {};
  std::map<int, double> message_bytes = {};
};

// Reports that an earlier analysis left do not tell it.
StepWork step_work(std::span<const RankReport> ranks);

// Returns what a step of the test has where it differs much from one of the baseline, "66 kernels,
// not 60", else "". The figures are means over the ranks of which both sides tell them.
std::string work_difference(const StepWork& baseline, const StepWork& test);

// Returns a sentence without a full stop on tests with this difference. Fused kernels, and other
// algorithms, do the same work with other kernels, so it is a caution.
std::string other_work_in_words(const std::string& baseline,
                                std::span<const std::string> tests,
                                const std::string& difference);

}  // namespace assay::trace
