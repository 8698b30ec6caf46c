#include "goal/inputs/profiler_events.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/parallel.h"
#include "goal/input.h"
#include "goal/inputs/lines.h"
#include "goal/inputs/nccl_log.h"
#include "goal/inputs/nccl_log_files.h"
#include "goal/inputs/process_recording.h"
#include "goal/inputs/profiler_event_reader.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;

bool is_events_name(const std::string& name) {
  return name.rfind("prof_", 0) == 0 && name.size() > 6 &&
         name.compare(name.size() - 6, 6, ".jsonl") == 0;
}

bool is_profiler_events(const fs::path& file) {
  constexpr std::size_t kLookedAtBytes = 4096;
  return is_events_name(file.filename().string()) &&
         first_bytes(file, kLookedAtBytes).find("\"ev\"") != std::string::npos;
}

// The events tell neither host nor device.
void place(const NcclLog& log, ProcessRecording& process) {
  process.gpu.node = "unknown";
  for (const LoggedCommunicator& communicator : log.communicators) {
    for (const CommunicatorView& view : process.communicators) {
      const auto found = communicator.ranks.find(view.rank);
      if (view.name != communicator.name || found == communicator.ranks.end()) continue;
      process.gpu.node = logged_nodes(communicator).at(view.rank);
      process.gpu.device = found->second.device;
      return;
    }
  }
  process.warnings.add("processes whose node no NCCL log tells", "taken to be on one node",
                       process.file);
}

core::Result<model::Job> read_profiler_events(const std::vector<fs::path>& files,
                                              const InputOptions& options) {
  std::vector<std::optional<core::Result<std::optional<ProcessRecording>>>> results(files.size());
  core::parallel_for(files.size(), options.threads,
                     [&](std::size_t i) { results[i].emplace(read_event_file(files[i])); });
  model::Warnings warnings;
  const NcclLog log = ASSAY_TRY(read_nccl_logs(nccl_logs_beside(files, options), warnings));
  std::map<std::string, std::uint32_t> clocks;
  std::vector<ProcessRecording> processes;
  for (auto& result : results) {
    if (!result->ok()) return result->error();
    std::optional<ProcessRecording> process = std::move(*result).value();
    if (!process) continue;
    place(log, *process);
    const std::string host = host_of_node(process->gpu.node);
    process->gpu.clock =
        clocks.emplace(host, static_cast<std::uint32_t>(clocks.size())).first->second;
    processes.push_back(std::move(*process));
  }
  if (processes.empty()) {
    return core::Error{files[0].string() + ": no event \"init\": not the events of a process"};
  }
  model::Job job = join_processes(std::move(processes));
  job.warnings.merge(warnings);
  job.nccl_version = log.nccl_version;
  add_topology(log, job);
  return job;
}

const InputSpec kProfilerEvents{.name = "profiler_events",
                                .description = "JSON lines of an NCCL profiler plugin",
                                .accepts = is_profiler_events,
                                .read = read_profiler_events};
ASSAY_REGISTER(InputSpec, kProfilerEvents);

}  // namespace

bool has_profiler_events(const fs::path& folder) {
  const auto names = core::list_directory(folder.empty() ? fs::path(".") : folder);
  if (!names.ok()) return false;
  return std::any_of(names.value().begin(), names.value().end(),
                     [](const fs::path& name) { return is_events_name(name.string()); });
}

}  // namespace assay::goal
