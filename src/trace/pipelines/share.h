// The work of one process: it reads its share of a run's files, keeps the parts, and writes the
// individual reports of its ranks.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/process_group.h"
#include "core/result.h"
#include "core/terminal.h"
#include "trace/pipelines.h"
#include "trace/pipelines/rank_part.h"
#include "trace/pipelines/reduce.h"
#include "trace/run.h"

namespace assay::trace {

// A part, or why there is none; std::nullopt for a file that was not read, as another process was
// to read it, or process 0 failed.
using ReadParts = std::vector<std::optional<core::Result<RankPart>>>;

// Returns the positions of the files that this process reads; all where it is alone.
std::vector<std::size_t> share_of(std::size_t files, const core::ProcessGroup* processes);

// Returns the threads for the work of this process. Several processes of a host share its
// processors, so that each takes one unless the user says otherwise.
unsigned threads_of(const Request& request);

struct ShareWork {
  const Options& options;
  Keep keep;
  unsigned threads = 0;
  core::ProcessGroup* processes = nullptr;  // of a process that follows: it ends when called
  FileDamage damage = FileDamage::kIgnore;
};

// Reads the files at these positions into the same positions of `parts`. The memory is that of the
// traces being read, one a thread, and of the parts.
void read_share(std::span<const RankFile> files,
                std::span<const std::size_t> positions,
                const ShareWork& work,
                core::Progress& progress,
                ReadParts& parts);

core::Result<std::vector<std::filesystem::path>> write_individual_report(
    const model::Book& book,
    int rank,
    const Request& request,
    const std::filesystem::path& folder,
    ReportNames names);

}  // namespace assay::trace
