#include "goal/clocks.h"

#include <algorithm>
#include <limits>

namespace assay::goal {

std::vector<std::int64_t> clock_starts(const model::Job& job) {
  std::vector<std::int64_t> starts;
  for (const model::JobGpu& gpu : job.gpus) {
    if (gpu.clock >= starts.size()) {
      starts.resize(gpu.clock + 1, std::numeric_limits<std::int64_t>::max());
    }
    std::int64_t start = gpu.window_start_ns;
    if (start == 0) {
      if (gpu.operations.empty()) continue;  // it says nothing about the clock
      start = gpu.operations.front().start_ns;
    }
    starts[gpu.clock] = std::min(starts[gpu.clock], start);
  }
  return starts;
}

}  // namespace assay::goal
