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
  // A driver takes a moment to forget the dead of the last run; in a container, where its numbers
  // may be the host's, the dead cannot be told from the unseen.
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

// Otherwise a number of the driver's may be that of a stranger here by chance.
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
    if (ours_.contains(process)) continue;  // seen on a GPU before it was known as ours
    warnings.push_back(fmt::format("{} {} used during the run by {}, which is not of it",
                                   gpu::gpu_names(use.gpus), use.gpus.size() == 1 ? "was" : "were",
                                   described(process, use.name)));
  }
  return warnings;
}

}  // namespace assay::sweep
