// Reads one nsys report (an SQLite export), which is that of a node or of a process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "goal/inputs/join_processes.h"
#include "goal/inputs/nsys_database.h"
#include "goal/inputs/nsys_process.h"
#include "model/warnings.h"

namespace assay::goal {

struct NsysReport {
  std::string node;
  std::optional<std::int64_t>
      epoch_ns;  // the time from which its times count; std::nullopt: unknown
  std::vector<ProcessRecording> processes = {};
  // Parallel to `processes`: the communicators of each, whose names all reports decide together.
  std::vector<std::vector<NsysCommunicator>> communicators = {};
  model::Warnings warnings = {};
};

// Fails for a file that is not SQLite, is damaged, or has no NVTX rows; the error names the file.
core::Result<NsysReport> read_nsys_report(const std::filesystem::path& path);

// The same for an open file. `stem` is the file's name without its ending.
core::Result<NsysReport> read_nsys_report(const SqliteFile& file, const std::string& stem);

// Returns "nid000017" for "report_nid000017", "3" for "profile_991_3_7", and "" for a name of
// another form.
std::string node_of_file_name(const std::string& stem);

// Finds the kernels of the plans and makes a recording of what was gathered about a process.
ProcessRecording finish_process(NsysProcess process, const std::string& file);

}  // namespace assay::goal
