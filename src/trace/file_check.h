// Whether the traces of a run that has just ended are all there and whole, at the cost of reading
// them once: nothing is parsed and nothing kept, so it needs a few MB whatever their size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/warnings.h"

namespace assay::trace {

struct TraceFileCheck {
  enum class State { kWhole, kDamaged, kUnreadable };

  std::filesystem::path path;
  State state = State::kWhole;
  std::string damage = {};                       // "cut off after 12,345 events"; "" when whole
  std::uint64_t event_count = 0;                 // whole events
  std::optional<int> rank = std::nullopt;        // as the trace says, else its folder or file name
  std::optional<int> world_size = std::nullopt;  // as the trace says
};

struct TraceCheck {
  std::vector<TraceFileCheck> files;  // in the order of their names
  int world_size = 0;                 // the largest of the files; 0: none says it
  std::vector<int> missing_ranks = {};
  std::vector<int> ranks_given_twice = {};
  model::Warnings warnings = {};  // of the search for files

  [[nodiscard]] std::uint64_t event_count() const;

  // All that is wrong: "rank 3: cut off after 12,345 events; ranks 5 and 7 of 8 missing". "" when
  // every rank has one whole trace.
  [[nodiscard]] std::string problem() const;
};

// The traces that find_rank_files finds in `folder`, `threads` at a time (0: one per processor).
// An error only where it finds none.
core::Result<TraceCheck> check_traces(const std::filesystem::path& folder, unsigned threads);

}  // namespace assay::trace
