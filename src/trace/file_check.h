// Checks whether the traces of a run that has just ended are complete and undamaged, and recorded
// GPU work, without which no report can use them. It reads each file once, parses no event and
// keeps nothing, so it needs a few MB whatever the size of a trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/warnings.h"
#include "trace/run.h"

namespace assay::trace {

struct TraceFileCheck {
  enum class State { kWhole, kDamaged, kUnreadable, kNoGpuWork };

  std::filesystem::path path;
  State state = State::kWhole;
  std::string damage = {};             // "cut off after 12 events", "no GPU work"; "" when whole
  std::uint64_t event_count = 0;       // complete events
  std::optional<int> rank = {};        // from the trace, else from its folder or file name
  std::optional<int> world_size = {};  // from the trace
};

struct TraceCheck {
  std::vector<TraceFileCheck> files;  // in the order of their names
  int world_size = 0;                 // the largest that a file states; 0 when none does
  std::vector<int> missing_ranks = {};
  std::vector<int> ranks_given_twice = {};
  model::Warnings warnings = {};  // from the search for files

  [[nodiscard]] std::uint64_t event_count() const;

  // Describes all that is wrong: "rank 3: cut off after 12,345 events; ranks 5 and 7 of 8 missing".
  // Returns "" when every rank has one undamaged trace with GPU work.
  [[nodiscard]] std::string problem() const;
};

TraceFileCheck check_trace(const RankFile& file);

// Checks the traces that find_rank_files finds in `folder`, `threads` at a time (0: one per
// processor). Fails only when it finds none.
core::Result<TraceCheck> check_traces(const std::filesystem::path& folder, unsigned threads);

}  // namespace assay::trace
