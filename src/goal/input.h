// A kind of recording from which a job's communication can be read.
//
// To add a kind, write src/goal/inputs/<name>.cc with a spec,
//
//   const InputSpec kNsys{.name = "nsys", .description = "SQLite exports of Nsight Systems",
//                         .accepts = is_nsys, .read = read_nsys};
//   ASSAY_REGISTER(InputSpec, kNsys);
//
// `assay goal` then finds its files in any folder it is given.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/registry.h"
#include "core/result.h"
#include "goal/job_file.h"
#include "model/job.h"

namespace assay::goal {

// The ranks of a node where a recording names no nodes and the options do not say.
inline constexpr unsigned kDefaultGpusPerNode = 8;

struct InputOptions {
  std::vector<std::filesystem::path> nccl_logs = {};  // empty: the logs beside the recording
  unsigned threads = 0;                               // 0: one per processor
  std::optional<unsigned> gpus_per_node = {};         // only of a kind that names no nodes
};

struct InputSpec {
  const char* name;
  const char* description;
  // Returns whether this kind reads the file; looks at its name first and then at its first bytes.
  bool (*accepts)(const std::filesystem::path& file);
  // Reads all files of a job together: sorted paths, at least one, all of them accepted. A fault
  // that can be mended is counted in Job::warnings; any other is an error that names the file.
  core::Result<model::Job> (*read)(const std::vector<std::filesystem::path>& files,
                                   const InputOptions& options);
  bool names_nodes = true;
  bool reads_logs = true;  // those of NCCL, for rings and trees
  // The name of a kind that tells more: in a folder with its files, those of this kind are passed
  // over.
  const char* yields_to = nullptr;
};

// Reads the recording in `folder` and its subfolders, or in the file of that name; without one, the
// operations of a job's file there. Fails when there is neither, when there are several kinds, not
// counting the NCCL logs that accompany others, and when options say what the kind tells itself.
core::Result<model::Job> read_job(const std::filesystem::path& folder, const InputOptions& options);

// Returns the job's file that `folder` holds, or is, when there is no recording: its replicas and
// costs are more than read_job() tells. Fails when there are several.
core::Result<std::optional<JobFile>> find_job_file(const std::filesystem::path& folder);

}  // namespace assay::goal
