// Finds and reads the traces of a run: one file a rank.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"
#include "model/trace.h"
#include "trace/reader/reader.h"

namespace assay::trace {

struct RankFile {
  std::optional<int> rank;  // as the folder or the file name says
  std::filesystem::path path;
};

// The trace files that `path` stands for: a file; a folder with rank0, rank_0 or rank_00 inside;
// the parent of such a folder called torch_profiler; or a folder of *.json and *.json.gz files.
core::Result<std::vector<RankFile>> find_rank_files(const std::filesystem::path& path,
                                                    model::Warnings& warnings);

struct RankTrace {
  int rank = 0;
  model::Trace trace;
};

struct Run {
  std::vector<RankTrace> ranks;  // by rank
  model::Warnings warnings;      // about the run as a whole; a trace keeps its own
};

// Bytes of the files, for progress.
std::uint64_t total_bytes(std::span<const RankFile> files);

// Reads the files, at most `threads` at a time (0: one per processor). The rank is what the trace
// says (distributedInfo), checked against its folder and its record_param_comms; then the
// folder's; then the position. Two traces of one rank are an error.
core::Result<Run> read_run(std::span<const RankFile> files,
                           unsigned threads,
                           const OnProgress& on_progress = {});

// Adds a warning for the ranks between 0 and the world size that the run lacks.
void warn_of_missing_ranks(Run& run);

}  // namespace assay::trace
