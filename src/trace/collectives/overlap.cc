#include "trace/collectives/overlap.h"

#include <limits>

namespace assay::trace::collectives {
namespace {

std::vector<Interval> counted_intervals(const RankAnalysis& rank, GpuWork work) {
  std::vector<Interval> result;
  for (std::size_t i = 0; i < rank.gpu_intervals.size(); ++i) {
    if (rank.counted[i] && rank.gpu_work[i] == work) result.push_back(rank.gpu_intervals[i]);
  }
  return merged(std::move(result));
}

}  // namespace

double overlap_percent(const RankAnalysis& rank) {
  const auto communication = counted_intervals(rank, GpuWork::kCommunication);
  const auto computation = counted_intervals(rank, GpuWork::kComputation);
  const auto total = total_length(communication);
  if (total == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto shared = total_length(intersection(communication, computation));
  return 100 * static_cast<double>(shared) / static_cast<double>(total);
}

}  // namespace assay::trace::collectives
