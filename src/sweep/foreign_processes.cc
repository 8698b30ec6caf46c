#include "sweep/foreign_processes.h"

#include <fmt/core.h>

#include "sweep/process_table.h"

namespace assay::sweep {
namespace {

std::string described(std::int64_t process, const std::string& name) {
  return name.empty() ? fmt::format("process {}", process)
                      : fmt::format("process {} ({})", process, name);
}

}  // namespace

void ForeignProcesses::add(Uses& uses, const gpu::Process& process, int gpu) const {
  Use& use = uses[process.pid];
  use.gpus.insert(gpu);
  if (use.name.empty()) use.name = process.name;
  if (use.name.empty()) use.name = process_name(root_, process.pid);
}

void ForeignProcesses::begin_run(const gpu::Machine& machine) {
  ours_.clear();
  before_.clear();
  during_.clear();
  ours_seen_on_gpus_ = false;
  // A driver still lists processes of the last run for a moment after they have ended. In a
  // container, its process numbers may be the host's, so ended processes look like invisible ones.
  const bool all_visible = in_first_process_namespace(root_);
  for (const gpu::Device& device : machine.devices) {
    for (const gpu::Process& process : device.processes) {
      if (all_visible && !process_exists(root_, process.pid)) continue;
      add(before_, process, device.index);
    }
  }
}

bool ForeignProcesses::is_ours(std::int64_t process) const {
  return descends(root_, process, [&](std::int64_t one) { return ours_.contains(one); });
}

void ForeignProcesses::look(const gpu::Machine& machine, std::span<const pid_t> processes) {
  ours_.insert(processes.begin(), processes.end());
  for (const gpu::Device& device : machine.devices) {
    for (const gpu::Process& process : device.processes) {
      if (before_.contains(process.pid)) continue;
      if (is_ours(process.pid)) {
        ours_seen_on_gpus_ = true;
      } else if (process_exists(root_, process.pid)) {
        add(during_, process, device.index);
      }
    }
  }
}

// If this is false, a number from the driver may match an unrelated process here by chance.
bool ForeignProcesses::numbers_are_ours() const {
  return ours_seen_on_gpus_ || in_first_process_namespace(root_);
}

std::vector<std::string> ForeignProcesses::warnings() const {
  std::vector<std::string> warnings;
  for (const auto& [process, use] : before_) {
    warnings.push_back(fmt::format("{} {} used by {} before the run", gpu::gpu_names(use.gpus),
                                   use.gpus.size() == 1 ? "was" : "were",
                                   described(process, use.name)));
  }
  if (!numbers_are_ours()) return warnings;
  for (const auto& [process, use] : during_) {
    if (ours_.contains(process)) continue;  // seen on a GPU before it was known to be ours
    warnings.push_back(fmt::format("{} {} used during the run by {}, which is not of it",
                                   gpu::gpu_names(use.gpus), use.gpus.size() == 1 ? "was" : "were",
                                   described(process, use.name)));
  }
  return warnings;
}

}  // namespace assay::sweep
