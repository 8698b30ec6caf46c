// What the trace commands have in common: from files to analysed ranks, from books to files.
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

// A run whose traces are read and analysed. The analyses point into the traces, so the run does
// not move.
struct AnalyzedRun {
  std::unique_ptr<Run> run;
  std::vector<RankAnalysis> ranks;  // by rank

  // Of the run, its traces and their analyses.
  [[nodiscard]] model::Warnings warnings() const;
};

core::Result<AnalyzedRun> analyze_files(std::span<const std::filesystem::path> inputs,
                                        const Request& request,
                                        core::Progress& progress);

// <stem>.xlsx, <stem>.json, <stem>_csvs: those that the request asks for. Makes the folder.
core::Result<std::vector<std::filesystem::path>> write_book(const model::Book& book,
                                                            const std::filesystem::path& stem,
                                                            const Output& output);

// rank<N>_individual_report of each rank, on the request's threads.
core::Result<std::vector<std::filesystem::path>> write_individual_reports(
    const AnalyzedRun& run, const Request& request, const std::filesystem::path& folder);

// What a comparison reads of each rank: its timelines and what they leave out.
std::vector<RankReport> timeline_reports(const AnalyzedRun& run);

struct CollectiveBook {
  model::Book book;
  model::Table overview;     // for a terminal
  model::Warnings warnings;  // all of the run
};

// Without `gpus_per_node`, nodes are told by the devices that the traces name.
CollectiveBook collective_book(const AnalyzedRun& run,
                               std::optional<int> gpus_per_node = std::nullopt);

// The configuration of which `path` may be the torch_profiler folder: without a trailing slash.
std::filesystem::path configuration_folder(const std::filesystem::path& path);

inline constexpr const char* kCollectiveReportName = "collective_all_ranks";

// Time of each kind on each rank, one line a rank: the terminal's summary of a run.
model::Table timeline_overview(const AnalyzedRun& run);

}  // namespace assay::trace
