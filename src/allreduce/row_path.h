// The cheapest way through a row of cells: one state a cell, with a price for changing it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace assay::allreduce {

inline constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::max() / 4;

struct RowPrices {
  std::int64_t change = 0;  // for any change of state
  std::int64_t back = 0;    // besides, when the new state's rank is lower
};

// `costs[cell][state]` is what a state costs in a cell, kImpossible where it cannot be; every cell
// must have a possible state. Exact, by dynamic programming. Of equally cheap ways the one that
// changes latest, then to the state that comes first: whole numbers, so that "equally" is exact.
std::vector<std::size_t> cheapest_path(const std::vector<std::vector<std::int64_t>>& costs,
                                       const std::vector<int>& ranks,
                                       const RowPrices& prices);

}  // namespace assay::allreduce
