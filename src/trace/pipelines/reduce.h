// Reads the ranks of a run one after the other and keeps of each only what the reports need, so
// that the memory of a run is that of the traces being read, one a thread, and of the parts.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/terminal.h"
#include "trace/collectives/event.h"
#include "trace/collectives/report.h"
#include "trace/compare/configuration.h"
#include "trace/lost_ranks.h"
#include "trace/path/execution.h"
#include "trace/pipelines.h"
#include "trace/pipelines/rank_part.h"

namespace assay::trace {

// A run of which all traces have been read and freed. The lists of what was kept have an entry for
// each rank, in this order, or are empty; `communication` has none for traces that are cut off.
struct ReducedRun {
  Compat compat = Compat::kNone;
  std::vector<RankFacts> ranks = {};         // sorted by rank; without those that are left out
  std::vector<model::Book> individual = {};  // empty for ranks that another process read
  std::vector<int> readers = {};             // the process that read the rank; of each rank
  std::vector<RankReport> timelines = {};
  std::vector<std::vector<model::Cell>> overview = {};
  std::vector<collectives::RankRecording> communication = {};
  std::vector<path::RankWorks> works = {};
  model::Warnings run_warnings = {};  // about the run as a whole
  // What is written lacks these ranks, or some of their figures.
  std::vector<LostRank> lost_ranks = {};
  Showing showing = Showing::kSideBySide;

  // The warnings of the run, its traces and their analyses.
  [[nodiscard]] model::Warnings warnings() const;

  // Says what is wrong with the lost ranks; "" for none.
  [[nodiscard]] std::string lost_in_words() const {
    return lost_ranks_in_words(lost_ranks, showing);
  }

  // The GPU that a trace names, "" where none does.
  [[nodiscard]] std::string gpu_name() const;
};

// Inputs are files, or folders that hold ranks. A trace that cannot be read is a lost rank, unless
// there is no other, or the request keeps what it reads or is in compat mode.
core::Result<ReducedRun> reduce_files(std::span<const std::filesystem::path> inputs,
                                      const Request& request,
                                      const Keep& keep,
                                      core::Progress& progress);

// The files of the individual reports: rank<N>_individual_report in all formats, or
// perf_rank<N>.xlsx, for which the public tool's scripts look.
enum class ReportNames { kDocumented, kLegacy };

// Writes the individual report of each rank, on the request's threads.
core::Result<std::vector<std::filesystem::path>> write_individual_reports(
    const ReducedRun& run,
    const Request& request,
    const std::filesystem::path& folder,
    ReportNames names = ReportNames::kDocumented);

struct CollectiveBook {
  std::shared_ptr<const collectives::Study> study;  // the largest tables read it
  model::Book book;
  model::Table overview;     // shown on a terminal
  model::Warnings warnings;  // all warnings of the run
};

// Without `gpus_per_node`, nodes are identified by the devices that the traces name.
CollectiveBook collective_book(const ReducedRun& run,
                               std::optional<int> gpus_per_node = std::nullopt);

// Returns the time of each kind on each rank, one row per rank, as the terminal's summary of a run.
model::Table timeline_overview(const ReducedRun& run);

}  // namespace assay::trace
