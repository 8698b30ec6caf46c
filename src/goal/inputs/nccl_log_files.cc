#include "goal/inputs/nccl_log_files.h"

#include <algorithm>
#include <set>

#include "core/files.h"

namespace assay::goal {

namespace fs = std::filesystem;

std::vector<fs::path> nccl_logs_beside(const std::vector<fs::path>& files,
                                       const InputOptions& options) {
  if (!options.nccl_logs.empty()) return options.nccl_logs;
  std::set<fs::path> folders;
  for (const fs::path& file : files)
    folders.insert(file.has_parent_path() ? file.parent_path() : fs::path("."));
  std::vector<fs::path> logs;
  for (const fs::path& folder : folders) {
    const auto names = core::list_directory(folder);
    if (!names.ok()) continue;  // the recording itself was found there: a race, not a fault
    for (const fs::path& name : names.value()) {
      if (is_nccl_log(folder / name)) logs.push_back(folder / name);
    }
  }
  return logs;
}

core::Status add_logged_topology(const std::vector<fs::path>& files,
                                 const InputOptions& options,
                                 model::Job& job) {
  const std::vector<fs::path> logs = nccl_logs_beside(files, options);
  if (logs.empty()) return {};
  const NcclLog log = ASSAY_TRY(read_nccl_logs(logs, job.warnings));
  if (job.nccl_version.empty()) job.nccl_version = log.nccl_version;
  add_topology(log, job);
  return {};
}

}  // namespace assay::goal
