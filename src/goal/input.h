// A kind of recording that a job's communication can be read from.
//
// To add one: write src/goal/inputs/<name>.cc with a spec,
//
//   const InputSpec kNsys{.name = "nsys", .description = "SQLite exports of Nsight Systems",
//                         .accepts = is_nsys, .read = read_nsys};
//   ASSAY_REGISTER(InputSpec, kNsys);
//
// `assay goal` then finds its files in any folder it is given.
#pragma once

#include <filesystem>
#include <vector>

#include "core/registry.h"
#include "core/result.h"
#include "model/job.h"

namespace assay::goal {

struct InputOptions {
  std::vector<std::filesystem::path> nccl_logs = {};  // empty: those found beside the recording
  unsigned threads = 0;                               // 0: one per processor
};

struct InputSpec {
  const char* name;
  const char* description;
  // Whether this kind reads the file; looks at its name first and then at its first bytes.
  bool (*accepts)(const std::filesystem::path& file);
  // Reads all files of a job together: sorted paths, at least one, each accepted. What is wrong
  // but can be mended is counted in Job::warnings; what cannot is an error that names the file.
  core::Result<model::Job> (*read)(const std::vector<std::filesystem::path>& files,
                                   const InputOptions& options);
};

// Reads the recording below `folder` (searched through all its folders; a file is a recording of
// itself). Fails when there is none, or when there are several kinds; "several kinds" leaves out
// NCCL logs, which accompany the others.
core::Result<model::Job> read_job(const std::filesystem::path& folder, const InputOptions& options);

}  // namespace assay::goal
