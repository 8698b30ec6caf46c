// Which ranks the two sides of a comparison have.
#pragma once

#include <set>
#include <string>

#include "trace/compare/collective_rows.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

std::set<int> ranks_of(const Configuration& side);

struct NamedRanks {
  std::string label;  // of their side
  std::set<int> ranks;
};

// Returns "rank 1 only of a; ranks 2, 3 only of b", or nothing.
std::string different_ranks(const NamedRanks& baseline, const NamedRanks& test);
std::string different_ranks(const Sides& sides);

// Tells whether a collective is of a group of which one side lacks a rank that the other has. The
// latencies of that side hold waits for a rank that nobody recorded.
class UnequalGroups {
 public:
  explicit UnequalGroups(const Sides& sides);

  // A group that is not named may be any, so that it counts as unequal wherever ranks differ.
  [[nodiscard]] bool hold(const SheetPair& sheets, const JoinedRows& rows) const;

 private:
  [[nodiscard]] bool hold(const model::Table* table, const RowNumbers& rows) const;

  std::set<int> of_one_side_;
};

}  // namespace assay::trace
