// Two runs' GPU time as one tree of paths: what is at the same place of both, even where one of
// them has more numbers in its names, or a wrapper around a part.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trace/diff/kernel_diff.h"

namespace assay::trace {

// Returns for each path of the test that stands elsewhere in the baseline the baseline's path.
// Children of a place are the same if they have the same name, else if they are the nth of one
// class among those without a namesake (module_class in modules.h), else if one is a wrapper, whose
// child has the other's class.
std::map<std::string, std::string> matching_paths(std::span<const KernelUse> baseline,
                                                  std::span<const KernelUse> test);

// Renames the paths of the test accordingly.
void rename_paths(const std::map<std::string, std::string>& names, std::vector<KernelUse>& test);

struct PathDifference {
  std::string path;
  int depth = 0;
  double baseline_kernels = 0;  // calls of kernels here and below
  double test_kernels = 0;
  double baseline_us = 0;
  double test_us = 0;

  [[nodiscard]] double effect_us() const { return test_us - baseline_us; }
};

// Returns every place before those inside of it, and those in the order of their effects. Kernels
// without a path are in no row.
std::vector<PathDifference> path_differences(std::span<const KernelUse> baseline,
                                             std::span<const KernelUse> test);

}  // namespace assay::trace
