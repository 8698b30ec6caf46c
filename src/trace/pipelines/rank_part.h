// What the reports need of a rank once its trace is freed: its part of the result.
//
//   files → trace → RankAnalysis → RankPart ─┐ (one rank after the other, the trace is freed)
//                                            ├→ ReducedRun → reports of all ranks
//                              RankPart ─────┘
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/table.h"
#include "model/warnings.h"
#include "trace/analysis.h"
#include "trace/collectives/event.h"
#include "trace/lost_ranks.h"
#include "trace/path/execution.h"
#include "trace/run.h"

namespace assay::trace {

// What a run is checked by.
struct RankFacts {
  int rank = 0;
  std::string path = {};
  std::string gpu_name = {};
  int world_size = 0;  // 0: the trace does not say
  bool truncated = false;
  std::string damage = {};       // as Trace::damage
  bool counts_anything = false;  // false: it has no GPU work that counts
  std::int64_t leaked_kernels = 0;
  std::int64_t outside_kernels = 0;
  bool is_foreign = false;  // true: no event is one that PyTorch's profiler writes
  // Of the trace and its analysis; those of the trace alone where nothing counts.
  model::Warnings warnings = {};
};

RankFacts facts_of(const RankAnalysis& rank);

bool is_left_out(const RankFacts& rank, Showing showing);

// Which parts of a rank a command needs; what it does not need costs nothing.
struct Keep {
  bool individual = false;     // the individual report
  bool timelines = false;      // what a comparison reads
  bool overview = false;       // what the terminal shows
  bool communication = false;  // the report of the communication between ranks
  bool works = false;          // what ran when: the critical path; never in compat mode
};

struct RankPart {
  RankFacts facts;
  model::Book individual = {};
  model::Book timelines = {};              // gpu_timeline, …_steps, steps, excluded_work, work
  std::vector<model::Cell> overview = {};  // a row of timeline_overview()
  std::optional<collectives::RankRecording> communication = std::nullopt;
  std::optional<path::RankWorks> works = std::nullopt;
};

RankPart part_of(const RankAnalysis& rank, const Keep& keep);

// Fails when no rank has GPU work to count, or all that have are left out.
core::Status check_gpu_work(std::span<const RankFacts> ranks, Showing showing);

// Adds a warning for the ranks between 0 and the world size that are not among these, nor those
// of files that could not be read.
void warn_of_missing_ranks(std::span<const RankFacts> ranks,
                           std::span<const UnreadFile> unread,
                           model::Warnings& warnings);

// Adds a warning where traces say that their jobs had different numbers of ranks.
void warn_of_unlike_jobs(std::span<const RankFacts> ranks, model::Warnings& warnings);

// Returns the ranks that are left out, or whose traces are cut off, and warns of those that are
// left out, as figures that are all zero look like measurements.
std::vector<LostRank> find_lost_ranks(std::span<const RankFacts> facts,
                                      std::span<const UnreadFile> unread,
                                      Showing showing,
                                      model::Warnings& warnings);

}  // namespace assay::trace
