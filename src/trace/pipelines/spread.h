// The ranks of a run spread over processes. Process 0 leads: it finds the files, gives each process
// its share, takes their parts and writes the reports of all ranks. The others follow: they read
// their share, keep the individual reports, and write them once process 0 knows that all is well.
//
//   process 0                         process k
//   read {keep, damage, files} ────▶  traces → parts; the individual reports stay here
//          parts, errors  ◀─────────
//   check all ranks
//   write {folder, ranks} ─────────▶  rank<N>_individual_report
//          paths, errors  ◀─────────
//   reports of all ranks
//   "" (the end)        ───────────▶
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "core/process_group.h"
#include "core/result.h"
#include "trace/pipelines/rank_part.h"
#include "trace/pipelines/reduce.h"
#include "trace/pipelines/share.h"
#include "trace/run.h"

namespace assay::trace {

// Returns which process reads the file at this position.
int reader_of(std::size_t position, const core::ProcessGroup& processes);

// Process 0 sends every other process its share of the files, before it reads its own.
core::Status send_shares(std::span<const RankFile> files,
                         const ShareWork& work,
                         core::ProcessGroup& processes);

// Takes what the others read.
core::Status receive_parts(core::ProcessGroup& processes, ReadParts& parts);

// Has the other processes write the individual reports of the ranks that they read.
core::Status send_writing(const ReducedRun& run,
                          const std::filesystem::path& folder,
                          ReportNames names,
                          core::ProcessGroup& processes);

// The files of the individual report of each rank.
using WrittenReports = std::vector<core::Result<std::vector<std::filesystem::path>>>;

// Takes what they wrote, into the places of their ranks.
core::Status receive_written(const ReducedRun& run,
                             core::ProcessGroup& processes,
                             WrittenReports& written);

}  // namespace assay::trace
