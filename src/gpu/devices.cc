#include "gpu/devices.h"

#include <fmt/core.h>

#include "core/text.h"

namespace assay::gpu {

std::string gpu_names(const std::set<int>& gpus) {
  std::vector<std::string> ranges;
  for (auto it = gpus.begin(); it != gpus.end();) {
    const int first = *it;
    int last = first;
    while (++it != gpus.end() && *it == last + 1)
      last = *it;
    ranges.push_back(first == last ? std::to_string(first) : fmt::format("{}-{}", first, last));
  }
  return (gpus.size() == 1 ? "GPU " : "GPUs ") + core::join(ranges, ", ");
}

}  // namespace assay::gpu
