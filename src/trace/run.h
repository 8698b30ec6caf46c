// Finds and reads the traces of a run, one file per rank, and finds the repeated runs of a
// configuration.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/trace.h"
#include "model/warnings.h"
#include "trace/options.h"
#include "trace/reader/reader.h"

namespace assay::trace {

struct RankFile {
  std::optional<int> rank;  // from the name of the folder or the file
  std::filesystem::path path;
  std::vector<std::filesystem::path> older = {};  // of the same rank, beside it; the last first
};

// Returns the trace files that `path` stands for. `path` may be a file, a folder that holds rank0,
// rank_0 or rank_00, a folder of *.json and *.json.gz files, as vLLM and SGLang leave, a folder
// that holds iteration_N with either (torchtitan), of which the last counts, or the parent of such
// a folder named torch_profiler or profile_trace(s).
core::Result<std::vector<RankFile>> find_rank_files(const std::filesystem::path& path,
                                                    model::Warnings& warnings);

// Fails if an output is one of the inputs, under whatever name: inputs are never replaced.
core::Status check_is_no_input(std::span<const std::filesystem::path> outputs,
                               std::span<const RankFile> inputs);

struct RankTrace {
  int rank = 0;
  model::Trace trace;
};

// A file that does not hold the trace of a rank.
struct UnreadFile {
  RankFile file;
  core::Error error;
};

struct Run {
  std::vector<RankTrace> ranks;         // by rank
  model::Warnings warnings;             // about the run as a whole; each trace keeps its own
  std::vector<UnreadFile> unread = {};  // those of its files that could not be read
};

// Returns the total size of the files, for progress.
std::uint64_t total_bytes(std::span<const RankFile> files);

// Fails if two of the files say at their beginning that they are of one rank: what can be told
// within milliseconds is told before the reading, which takes minutes.
core::Status check_heads(std::span<const RankFile> files);

struct RankOfFile {
  int rank = 0;
  std::string path;
};

// Fails if two neighbours are of one rank. `ranks` must be sorted.
core::Status check_ranks_differ(std::span<const RankOfFile> ranks);

// Reads a file. Fails for a trace of several processes, unless `reading` takes any. The rank of a
// trace is the one that it states itself (distributedInfo, then record_param_comms), else that of
// its folder or file name, else its position among the files; a contradiction is a warning.
core::Result<RankTrace> read_rank(const RankFile& file,
                                  std::size_t position,
                                  const Reading& reading = {},
                                  const OnProgress& on_progress = {});

// Reads the files, at most `threads` at a time (0: one per processor). Two traces of one rank are
// an error, as are files none of which can be read, or holds one process alone.
core::Result<Run> read_run(std::span<const RankFile> files,
                           unsigned threads,
                           const Reading& reading = {},
                           const OnProgress& on_progress = {});

// The folders in which `assay trace analyze` leaves its reports.
inline constexpr const char* kIndividualFolder = "individual_reports";
inline constexpr const char* kCollectiveFolder = "collective_reports";

// A configuration that was run several times is a folder with repeat1, repeat2, …, each with the
// content that the folder of a configuration that was run once has itself.
struct RunFolder {
  int repeat = 0;  // N of repeatN; 0 for a configuration that was run once
  std::filesystem::path path;
};

// Returns the repeats of a configuration by number, or the configuration itself when it has no
// repeats or has traces of its own.
std::vector<RunFolder> find_run_folders(const std::filesystem::path& configuration);

// Returns the same for an analysis, without the repeats that a sweep has not ended, and warns of
// what it leaves out. Fails when `compat` is a mode that does not know repeats.
core::Result<std::vector<RunFolder>> runs_to_analyze(const std::filesystem::path& configuration,
                                                     Compat compat,
                                                     model::Warnings& warnings);

// Adds the warnings of one run to `all`; their examples then name the repeat.
void merge_warnings(const RunFolder& run,
                    const model::Warnings& run_warnings,
                    model::Warnings& all);

// Returns advice for commands that need a single run: "name one of them, such as 'a/repeat1'", or
// "" for a folder without repeats.
std::string repeats_hint(const std::filesystem::path& folder);

}  // namespace assay::trace
