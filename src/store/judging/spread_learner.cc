#include "store/judging/spread_learner.h"

#include <utility>

#include "core/text.h"
#include "store/judging/row_load.h"

namespace assay::store {

SpreadLearner learner_with_rooflines(const Peaks& peaks, OperatorCosts costs) {
  std::string key = "memory " + core::shortest(peaks.memory_bytes_per_s) + ", links " +
                    core::shortest(peaks.link_bytes_per_s);
  for (const auto& [type, flops] : peaks.flops_per_s)
    key += ", " + type + " " + core::shortest(flops);
  const auto loads = [costs](const std::string& table, const Frame& rows) {
    return row_loads(costs(table), rows);
  };
  return {.key = std::move(key),
          .learn =
              [peaks, costs = std::move(costs)](const WorkRows& rows) {
                const Rooflines rooflines = table_rooflines(rows.table, costs(rows.table), peaks);
                return WorkIndex(rows, rooflines.bound).spreads();
              },
          .learn_power = [loads](const std::string& table,
                                 const Frame& rows) { return measured_power(table, loads, rows); }};
}

}  // namespace assay::store
