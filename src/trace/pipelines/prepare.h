// The steps that the trace commands share: from inputs to files to read, to analysed ranks, and
// from books to files.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/terminal.h"
#include "trace/analysis.h"
#include "trace/lost_ranks.h"
#include "trace/pipelines.h"
#include "trace/run.h"

namespace assay::trace {

// The request's options with the architecture that it names.
core::Result<Options> complete_options(const Request& request);

// What the reader has to read for an analysis with these options.
Reading reading_of(const Options& options);

struct InputFiles {
  std::vector<RankFile> files;
  model::Warnings warnings;  // from the search for them
  bool has_folder = false;   // whether all ranks of the run are expected
};

// Where the last trace of the only rank is broken, the last whole one beside it is taken, but not
// in compat mode.
core::Result<InputFiles> find_input_files(std::span<const std::filesystem::path> inputs,
                                          Compat compat);

// Warns of older traces of lost ranks.
void warn_of_older_traces(std::span<const RankFile> files,
                          std::span<const LostRank> lost,
                          model::Warnings& warnings);

// A run whose traces have been read and analysed and are all in memory, for commands that look at
// all of them at once. The analyses point into the traces, so the run lives at a fixed address.
struct AnalyzedRun {
  std::unique_ptr<Run> run;
  std::vector<RankAnalysis> ranks;        // sorted by rank; without those that are left out
  std::vector<LostRank> lost_ranks = {};  // what is written lacks them

  // The warnings of the run, its traces and their analyses.
  [[nodiscard]] model::Warnings warnings() const;

  // Says what is wrong with the lost ranks; "" for none.
  [[nodiscard]] std::string lost_in_words() const {
    return lost_ranks_in_words(lost_ranks, Showing::kSideBySide);
  }
};

core::Result<AnalyzedRun> analyze_files(std::span<const std::filesystem::path> inputs,
                                        const Request& request,
                                        core::Progress& progress);

// Adds what is said of the lost ranks of a run to what is said of others; "" for nothing.
void add_lost_ranks(const std::filesystem::path& run, const std::string& lost, std::string& all);

// Says in the first line of the summary, and as what makes the command fail, that what was written
// lacks something. "" for nothing.
void tell_incomplete(const std::string& lacking, CommandResult& result);

// Writes those of <stem>.xlsx, <stem>.json and <stem>_csvs that the request asks for, at most
// `threads` at the same time (0: one per processor). Creates the folder.
core::Result<std::vector<std::filesystem::path>> write_book(const model::Book& book,
                                                            const std::filesystem::path& stem,
                                                            const Output& output,
                                                            unsigned threads = 1);

// Returns the configuration, without a trailing slash; `path` may be its torch_profiler folder.
std::filesystem::path configuration_folder(const std::filesystem::path& path);

inline constexpr const char* kCollectiveReportName = "collective_all_ranks";
inline constexpr const char* kRanksReportName = "comparison_report";  // ranks side by side

}  // namespace assay::trace
