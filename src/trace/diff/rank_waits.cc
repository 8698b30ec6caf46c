#include "trace/diff/rank_waits.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "trace/path/execution.h"

namespace assay::trace {
namespace {

constexpr double kNanosecondsPerMicrosecond = 1000;

// A job of one rank waits for no other.
bool is_alone(std::span<const RankAnalysis> ranks) {
  return ranks.size() == 1 && ranks.front().trace->world_size == 1;
}

std::vector<double> unknown_waits(const RankAnalysis& rank) {
  std::vector<double> waits_us;
  for (const GpuWork work : rank.gpu_work)
    waits_us.push_back(work == GpuWork::kCommunication ? std::numeric_limits<double>::quiet_NaN()
                                                       : 0);
  return waits_us;
}

// An execution has its ranks by number.
std::vector<std::size_t> positions_by_number(std::span<const RankAnalysis> ranks) {
  std::vector<std::size_t> positions(ranks.size());
  std::iota(positions.begin(), positions.end(), 0U);
  std::stable_sort(positions.begin(), positions.end(),
                   [&](std::size_t a, std::size_t b) { return ranks[a].rank < ranks[b].rank; });
  return positions;
}

}  // namespace

std::vector<std::vector<double>> rank_waits_us(std::span<const RankAnalysis> ranks) {
  std::vector<std::vector<double>> waits_us;
  if (is_alone(ranks)) return {std::vector<double>(ranks.front().gpu_work.size(), 0)};
  for (const RankAnalysis& rank : ranks)
    waits_us.push_back(unknown_waits(rank));
  const std::vector<std::size_t> by_number = positions_by_number(ranks);
  const path::Execution execution = path::execution_of(ranks);
  for (path::WorkId id = 0; id < execution.works.size(); ++id) {
    const path::Work& work = execution.works[id];
    if (work.join == path::kNone || execution.joins[work.join].lacks_ranks) continue;
    waits_us[by_number[work.rank]][work.event] =
        static_cast<double>(execution.waited_until_ns(id) - work.start_ns) /
        kNanosecondsPerMicrosecond;
  }
  return waits_us;
}

}  // namespace assay::trace
