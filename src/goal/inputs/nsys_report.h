// One nsys report (an SQLite export): of a node or of a process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "goal/inputs/nsys_process.h"
#include "goal/inputs/process_recording.h"
#include "model/warnings.h"

namespace assay::goal {

struct NsysReport {
  std::string node;
  std::optional<std::int64_t> epoch_ns;  // what its times count from; nothing: not told
  std::vector<ProcessRecording> processes = {};
  // Beside `processes`: each one's communicators, whose names all reports decide together.
  std::vector<std::vector<NsysCommunicator>> communicators = {};
  model::Warnings warnings = {};
};

// Fails for a file that is no SQLite file, is damaged, or has no NVTX rows; the message names it.
core::Result<NsysReport> read_nsys_report(const std::filesystem::path& path);

// "000017" of "report_nid000017.sqlite" is "nid000017"; "3" of "profile_991_3_7.sqlite"; empty
// when the name follows neither form.
std::string node_of_file_name(const std::string& stem);

// Matches kernels and lays out what was gathered about a process.
ProcessRecording finish_process(NsysProcess process, const std::string& file);

}  // namespace assay::goal
