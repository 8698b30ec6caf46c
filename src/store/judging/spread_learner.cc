#include "store/judging/spread_learner.h"

#include <utility>

#include "core/text.h"

namespace assay::store {

SpreadLearner learner_with_rooflines(const Peaks& peaks, OperatorCosts costs) {
  std::string key = "memory " + core::shortest(peaks.memory_bytes_per_s) + ", links " +
                    core::shortest(peaks.link_bytes_per_s);
  for (const auto& [type, flops] : peaks.flops_per_s)
    key += ", " + type + " " + core::shortest(flops);
  return {.key = std::move(key), .learn = [peaks, costs = std::move(costs)](const WorkRows& rows) {
            const Rooflines rooflines = table_rooflines(rows.table, costs(rows.table), peaks);
            return WorkIndex(rows, rooflines.bound).spreads();
          }};
}

}  // namespace assay::store
