#include "allreduce/bench/nccl_plan.h"

#include <algorithm>

namespace assay::allreduce {
namespace {

constexpr std::int64_t kLeastSwept = std::int64_t{1} << 10U;
constexpr std::int64_t kMostSwept = std::int64_t{128} << 20U;

}  // namespace

std::vector<std::int64_t> nccl_sizes(Shapes shapes, const CellFilter& filter) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t power = kLeastSwept; power <= kMostSwept; power *= 2) {
    const std::int64_t size = shapes == Shapes::kHeldOut ? power / 2 * 3 : power;
    const bool fits =
        size >= filter.min_size_bytes && size <= std::min(filter.max_size_bytes, kMostSwept);
    if (fits && sizes.size() < filter.most_cells) sizes.push_back(size);
  }
  return sizes;
}

std::vector<NcclCell> plan_nccl_cells(int world_size,
                                      const NcclAxes& axes,
                                      const std::vector<std::int64_t>& sizes) {
  std::vector<NcclCell> cells;
  for (const Launch launch : axes.launches) {
    for (const NcclCollective collective : axes.collectives) {
      for (const DataType data_type : axes.data_types) {
        if (!adds(collective) && data_type != axes.data_types.front()) continue;
        for (const std::int64_t size : sizes) {
          cells.push_back({.collective = collective,
                           .world_size = world_size,
                           .size_bytes = size,
                           .launch = launch,
                           .data_type = data_type});
        }
      }
    }
  }
  return cells;
}

std::vector<NcclArm> nccl_arms(NcclCollective collective, const NcclAxes& axes) {
  std::vector<NcclArm> arms{NcclArm()};
  for (const std::string_view algorithm : kNcclAlgorithms) {
    if (algorithm == "tree" && collective != NcclCollective::kAllReduce) continue;
    for (const std::string_view protocol : kNcclProtocols) {
      for (const int channels : axes.channels)
        arms.emplace_back(NcclSetting{std::string(algorithm), std::string(protocol), channels});
    }
  }
  return arms;
}

}  // namespace assay::allreduce
