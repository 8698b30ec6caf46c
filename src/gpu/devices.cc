#include "gpu/devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>

#include "core/text.h"
#include "gpu/sysfs.h"

namespace assay::gpu {
namespace {

using model::Cell;
using model::Fact;

std::string state(std::optional<bool> mode) {
  if (!mode) return {};
  return *mode ? "on" : "off";
}

Cell whole(double value) {
  return std::int64_t{std::llround(value)};
}

template <class Number>
Cell number_cell(std::optional<Number> value) {
  if (!value) return {};
  return whole(static_cast<double>(*value));
}

// One value when all GPUs share it, else all of them in the order of the GPUs.
void add_common(model::Facts& facts,
                const std::vector<Device>& devices,
                const char* item,
                const char* unit,
                const std::function<Cell(const Device&)>& value_of) {
  std::vector<Cell> values;
  std::vector<std::string> texts;
  for (const Device& device : devices) {
    values.push_back(value_of(device));
    texts.push_back(model::text(values.back()));
  }
  const bool known = std::any_of(texts.begin(), texts.end(),
                                 [](const std::string& text) { return !text.empty(); });
  if (!known) return;
  const bool same = std::all_of(texts.begin(), texts.end(),
                                [&](const std::string& text) { return text == texts[0]; });
  facts.push_back(
      {.item = item, .value = same ? values[0] : Cell(core::join(texts, ", ")), .unit = unit});
}

// "8 x NVIDIA H200"; several models are listed with their counts.
std::string models(const std::vector<Device>& devices) {
  std::map<std::string, int> counts;
  for (const Device& device : devices)
    ++counts[device.name];
  std::vector<std::string> texts;
  texts.reserve(counts.size());
  for (const auto& [name, count] : counts)
    texts.push_back(fmt::format("{} x {}", count, name));
  return core::join(texts, ", ");
}

std::string uuids(const std::vector<Device>& devices) {
  std::vector<std::string> texts;
  texts.reserve(devices.size());
  for (const Device& device : devices)
    texts.push_back(device.uuid);
  return core::join(texts, ", ");
}

void add_text(model::Facts& facts,
              const char* item,
              const std::string& text,
              Fact::Compare compare) {
  if (!text.empty()) facts.push_back({.item = item, .value = text, .compare = compare});
}

void add_settings(model::Facts& facts, const std::vector<Device>& devices) {
  add_common(facts, devices, "GPU power limit", "W",
             [](const Device& gpu) { return number_cell(gpu.power_limit_watts); });
  add_common(facts, devices, "GPU SM clock limit", "MHz",
             [](const Device& gpu) { return number_cell(gpu.sm.max_mhz); });
  add_common(facts, devices, "GPU application SM clock", "MHz",
             [](const Device& gpu) { return number_cell(gpu.sm.application_mhz); });
  add_common(facts, devices, "GPU memory clock limit", "MHz",
             [](const Device& gpu) { return number_cell(gpu.memory.max_mhz); });
  add_common(facts, devices, "GPU persistence mode", "",
             [](const Device& gpu) { return state(gpu.persistence_mode); });
  add_common(facts, devices, "GPU ECC", "", [](const Device& gpu) { return state(gpu.ecc); });
  add_common(facts, devices, "GPU MIG mode", "", [](const Device& gpu) { return state(gpu.mig); });
}

void add_line_of(model::Facts& facts,
                 const char* item,
                 const std::filesystem::path& file,
                 Fact::Compare compare) {
  add_text(facts, item, sysfs_text(file), compare);
}

}  // namespace

std::string gpu_names(const std::set<int>& gpus) {
  std::vector<std::string> ranges;
  for (auto it = gpus.begin(); it != gpus.end();) {
    const int first = *it;
    int last = first;
    while (++it != gpus.end() && *it == last + 1)
      last = *it;
    ranges.push_back(first == last ? std::to_string(first) : fmt::format("{}-{}", first, last));
  }
  return (gpus.size() == 1 ? "GPU " : "GPUs ") + core::join(ranges, ", ");
}

model::Facts machine_facts(const Machine& machine) {
  model::Facts facts;
  if (machine.devices.empty()) return facts;
  add_text(facts, "driver", machine.driver_version, Fact::Compare::kExactly);
  add_text(facts, "CUDA driver", machine.cuda_driver_version, Fact::Compare::kExactly);
  add_text(facts, "NVML", machine.nvml_version, Fact::Compare::kNot);
  add_text(facts, "GPUs", models(machine.devices), Fact::Compare::kExactly);
  add_text(facts, "GPU uuids", uuids(machine.devices), Fact::Compare::kExactly);
  add_settings(facts, machine.devices);
  return facts;
}

model::Facts host_facts(const std::filesystem::path& root) {
  model::Facts facts;
  const std::filesystem::path kernel = root / "proc/sys/kernel";
  add_line_of(facts, "host", kernel / "hostname", Fact::Compare::kNot);
  add_line_of(facts, "kernel", kernel / "osrelease", Fact::Compare::kExactly);
  add_line_of(facts, "CPU governor", root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
              Fact::Compare::kExactly);
  return facts;
}

}  // namespace assay::gpu
