// Ranks whose traces are not whole, so that what is written lacks them or some of their figures: in
// words, and as a table that later commands read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/table.h"

namespace assay::trace {

// How a command shows the ranks of a run. Beside others, what a rank lacks whose trace is cut off
// would look like a difference, so that the rank is left out there.
enum class Showing { kEachAlone, kSideBySide };

enum class Loss : std::uint8_t {
  kUnreadable,
  kNoGpuWork,         // to count
  kCutBeforeGpuWork,  // the profiler writes GPU events last
  kCut,               // it has some
};

struct LostRank {
  std::optional<int> rank;  // std::nullopt: neither the trace nor its name tells
  Loss loss = Loss::kUnreadable;
  std::string path = {};
  int run = 0;  // as in RankReport
};

// Returns "rank 5", "ranks 5 and 7" or "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 56 more".
std::string ranks_in_words(const std::vector<int>& ranks);

// Returns "rank 1 has …, so all that was written lacks it"; "" for no ranks.
std::string lost_ranks_in_words(std::span<const LostRank> ranks, Showing showing);

// The table of these ranks in the reports of a run. Only runs that lost any have it.
inline constexpr const char* kIncompleteRanks = "incomplete_ranks";

model::Table lost_ranks_table(std::span<const LostRank> ranks);

// Reads the table again; rows that it did not write are left out.
std::vector<LostRank> lost_ranks_of(const model::Table& table);

}  // namespace assay::trace
