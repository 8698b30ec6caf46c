#include "store/judging/sustained_rate.h"

#include <vector>

#include "core/statistics.h"

namespace assay::store {

std::optional<double> sustained_flops(const WorkRows& rows,
                                      std::span<const UseFamily> families,
                                      const CostBinder& cost) {
  constexpr std::size_t kFewestRows = 5;
  if (!cost) return std::nullopt;
  std::vector<double> rates;
  for (const UseFamily& family : families) {
    const CostedOperator::SizedCost of_row = cost(rows.exact_fields(family.family), rows.sizes);
    if (!of_row) continue;
    for (std::size_t row = rows.begins[family.family]; row < rows.begins[family.family + 1];
         ++row) {
      if (rows.latencies[row] <= kSustainedMs) continue;
      const double flops = of_row(rows.sizes_of(row)).flops;
      if (flops > 0) rates.push_back(flops / rows.latencies[row] * 1e3);
    }
  }
  if (rates.size() < kFewestRows) return std::nullopt;
  return core::median(rates);
}

}  // namespace assay::store
