#include "doctor/doctor.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "doctor/clock_lock.h"
#include "doctor/doctor_checks.h"
#include "gpu/devices.h"

namespace assay::doctor {
namespace {

// NVML's utilization covers up to a second.
constexpr std::chrono::milliseconds kUtilizationTime{1100};

core::Error no_such_gpu(int index, const gpu::Machine& machine) {
  if (machine.devices.empty()) {
    return core::Error{fmt::format("there is no GPU {}: no NVIDIA GPU was found here", index)};
  }
  std::set<int> all;
  for (const gpu::Device& device : machine.devices)
    all.insert(device.index);
  return core::Error{fmt::format("there is no GPU {}; here {} {}", index,
                                 all.size() == 1 ? "is" : "are", gpu::gpu_names(all))};
}

// Leaves only the chosen GPUs.
core::Status choose(gpu::Machine& machine, const std::vector<int>& gpus) {
  for (const int index : gpus) {
    const bool there =
        std::any_of(machine.devices.begin(), machine.devices.end(),
                    [&](const gpu::Device& device) { return device.index == index; });
    if (!there) return no_such_gpu(index, machine);
  }
  if (gpus.empty()) return {};
  std::erase_if(machine.devices, [&](const gpu::Device& device) {
    return std::find(gpus.begin(), gpus.end(), device.index) == gpus.end();
  });
  return {};
}

template <class List>
void append(List& to, List from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

std::vector<Finding> check_gpus(const Diagnosis& diagnosis) {
  GpuFindings findings;
  for (const gpu::Device& device : diagnosis.machine.devices) {
    if (!device.problem.empty()) {
      findings.add(device.index, {.level = Level::kProblem,
                                  .seen = "it does not answer: " + device.problem,
                                  .why = "nothing can be measured on it",
                                  .hint = "a GPU that is lost comes back after a reboot",
                                  .commands = {"sudo dmesg | grep -i xid"}});
      continue;
    }
    const gpu::Health* health = health_of(diagnosis.health, device.index);
    check_settings(findings, device, health);
    check_use(findings, device);
    if (health == nullptr) continue;
    check_health(findings, device, *health);
    check_links(findings, *health, diagnosis.machine.devices);
  }
  return findings.take();
}

// GPUs with the same highest clocks share commands.
void add_commands(Diagnosis& diagnosis) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<int>> gpus_of_clocks;
  for (const gpu::Device& device : diagnosis.machine.devices) {
    if (!device.sm.max_mhz || !device.memory.max_mhz) continue;
    gpus_of_clocks[{*device.sm.max_mhz, *device.memory.max_mhz}].push_back(device.index);
  }
  for (const auto& [mhz, gpus] : gpus_of_clocks) {
    const gpu::Clocks clocks{.sm_mhz = mhz.first, .memory_mhz = mhz.second};
    append(diagnosis.lock_commands, lock_commands(gpus, clocks));
    append(diagnosis.unlock_commands, unlock_commands(gpus, clocks));
  }
}

std::vector<Finding> others_on_gpus(gpu::DeviceReader& reader, const std::vector<int>& gpus) {
  auto machine = reader.read(gpu::DeviceReader::Detail::kState);
  if (!machine.ok() || !choose(machine.value(), gpus).ok()) return {};
  GpuFindings findings;
  for (const gpu::Device& device : machine.value().devices) {
    if (device.problem.empty()) check_processes(findings, device);
  }
  std::vector<Finding> found = findings.take();
  std::erase_if(found, [](const Finding& finding) { return finding.level < Level::kWarning; });
  return found;
}

}  // namespace

core::Result<Diagnosis> diagnose(const DoctorRequest& request) {
  Diagnosis diagnosis;
  diagnosis.machine =
      ASSAY_TRY(gpu::nvidia_reader(request.nvml_library)->read(gpu::DeviceReader::Detail::kAll));
  const core::Status chosen = choose(diagnosis.machine, request.gpus);
  if (!chosen.ok()) return chosen.error();
  diagnosis.health = ASSAY_TRY(gpu::nvidia_health(request.nvml_library));
  diagnosis.libraries = find_libraries();
  if (diagnosis.machine.devices.empty()) {
    diagnosis.findings.push_back(no_gpu(request.root));
  } else {
    append(diagnosis.findings, check_gpus(diagnosis));
    append(diagnosis.findings, check_machine(diagnosis.machine, request.root));
  }
  append(diagnosis.findings, check_host(request.root));
  std::stable_sort(
      diagnosis.findings.begin(), diagnosis.findings.end(),
      [](const Finding& one, const Finding& other) { return one.level > other.level; });
  add_commands(diagnosis);
  return diagnosis;
}

std::vector<Finding> other_work_on_processors(const DoctorRequest& request) {
  const std::optional<Finding> load = check_load(request.root);
  if (!load || load->level < Level::kWarning) return {};
  return {*load};
}

std::vector<Finding> other_work_on_gpus(const DoctorRequest& request) {
  const auto reader = gpu::nvidia_reader(request.nvml_library);
  std::vector<Finding> found = others_on_gpus(*reader, request.gpus);
  const bool is_seen = std::any_of(found.begin(), found.end(), [](const Finding& finding) {
    return finding.seen.starts_with("process");
  });
  if (found.empty() || is_seen) return found;
  std::this_thread::sleep_for(kUtilizationTime);
  return others_on_gpus(*reader, request.gpus);
}

Level worst(const Diagnosis& diagnosis) {
  return diagnosis.findings.empty() ? Level::kOk : diagnosis.findings.front().level;
}

core::Result<model::Facts> environment_facts(const DoctorRequest& request) {
  auto machine =
      ASSAY_TRY(gpu::nvidia_reader(request.nvml_library)->read(gpu::DeviceReader::Detail::kAll));
  const core::Status chosen = choose(machine, request.gpus);
  if (!chosen.ok()) return chosen.error();
  model::Facts facts = gpu::host_facts(request.root);
  append(facts, gpu::machine_facts(machine));
  for (const LibraryFound& library : find_libraries()) {
    facts.push_back({.item = library.name, .value = library.version});
  }
  return facts;
}

}  // namespace assay::doctor
