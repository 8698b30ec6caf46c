// The steps that the trace commands share: from files to analysed ranks, and from books to files.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/terminal.h"
#include "trace/analysis.h"
#include "trace/compare/configuration.h"
#include "trace/pipelines.h"
#include "trace/run.h"

namespace assay::trace {

// A run whose traces have been read and analysed. The analyses point into the traces, so the run
// lives at a fixed address.
struct AnalyzedRun {
  std::unique_ptr<Run> run;
  std::vector<RankAnalysis> ranks;  // sorted by rank; without those that recorded no GPU work
  // What is wrong with ranks that recorded no GPU work though others did, "" for nothing. All that
  // is written lacks these ranks: figures that are all zero look like measurements.
  std::string lost_ranks = {};

  // The warnings of the run, its traces and their analyses.
  [[nodiscard]] model::Warnings warnings() const;
};

core::Result<AnalyzedRun> analyze_files(std::span<const std::filesystem::path> inputs,
                                        const Request& request,
                                        core::Progress& progress);

// Writes those of <stem>.xlsx, <stem>.json and <stem>_csvs that the request asks for. Creates the
// folder.
core::Result<std::vector<std::filesystem::path>> write_book(const model::Book& book,
                                                            const std::filesystem::path& stem,
                                                            const Output& output);

// Writes rank<N>_individual_report for each rank, on the request's threads.
core::Result<std::vector<std::filesystem::path>> write_individual_reports(
    const AnalyzedRun& run, const Request& request, const std::filesystem::path& folder);

// Returns what a comparison reads of each rank: its timelines, and the work that they leave out.
std::vector<RankReport> timeline_reports(const AnalyzedRun& run);

struct CollectiveBook {
  model::Book book;
  model::Table overview;     // shown on a terminal
  model::Warnings warnings;  // all warnings of the run
};

// Without `gpus_per_node`, nodes are identified by the devices that the traces name.
CollectiveBook collective_book(const AnalyzedRun& run,
                               std::optional<int> gpus_per_node = std::nullopt);

// Returns the configuration, without a trailing slash; `path` may be its torch_profiler folder.
std::filesystem::path configuration_folder(const std::filesystem::path& path);

inline constexpr const char* kCollectiveReportName = "collective_all_ranks";

// Returns the time of each kind on each rank, one row per rank, as the terminal's summary of a run.
model::Table timeline_overview(const AnalyzedRun& run);

}  // namespace assay::trace
