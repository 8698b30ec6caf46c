// What GpuWatch has seen, as facts. Their names do not depend on what was seen: one fact for all
// GPUs, so that runs can be compared.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "core/statistics.h"
#include "core/text.h"
#include "sweep/gpu_watch.h"

namespace assay::sweep {
namespace {

using gpu::Device;
using model::Cell;
using model::Fact;

constexpr double kClockTolerancePercent = 3;

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

// "8 x NVIDIA H200"; of several kinds, each with its count.
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

Fact clock_fact(const char* item, double mhz, Fact::Compare compare) {
  return {.item = item,
          .value = whole(mhz),
          .unit = "MHz",
          .compare = compare,
          .tolerance_percent = kClockTolerancePercent};
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

}  // namespace

void GpuWatch::add_load(model::Facts& facts) const {
  const Fact::Compare compare = seen_enough() ? Fact::Compare::kWithin : Fact::Compare::kNot;
  const std::vector<double> sm_mhz = medians(&Sample::sm_mhz);
  if (!sm_mhz.empty()) {
    facts.push_back(clock_fact("GPU SM clock under load (median)", core::median(sm_mhz), compare));
    facts.push_back(
        clock_fact("GPU SM clock under load (slowest GPU)", core::minimum(sm_mhz), compare));
  }
  const std::vector<double> memory_mhz = medians(&Sample::memory_mhz);
  if (!memory_mhz.empty()) {
    facts.push_back(
        clock_fact("GPU memory clock under load (median)", core::median(memory_mhz), compare));
  }
  const std::vector<double> temperatures = medians(&Sample::temperature_celsius);
  if (!temperatures.empty()) {
    facts.push_back({.item = "GPU temperature under load (hottest GPU)",
                     .value = whole(core::maximum(temperatures)),
                     .unit = "C",
                     .compare = Fact::Compare::kNot});
  }
  const std::vector<double> watts = medians(&Sample::power_watts);
  if (!watts.empty()) {
    facts.push_back({.item = "GPU power under load (median)",
                     .value = whole(core::median(watts)),
                     .unit = "W",
                     .compare = Fact::Compare::kNot});
  }
  add_text(facts, "GPU clocks held down by", held_down(), Fact::Compare::kNot);
}

model::Facts GpuWatch::facts() const {
  model::Facts facts;
  if (machine_.devices.empty()) return facts;
  add_text(facts, "driver", machine_.driver_version, Fact::Compare::kExactly);
  add_text(facts, "CUDA driver", machine_.cuda_driver_version, Fact::Compare::kExactly);
  add_text(facts, "NVML", machine_.nvml_version, Fact::Compare::kNot);
  add_text(facts, "GPUs", models(machine_.devices), Fact::Compare::kExactly);
  add_text(facts, "GPU uuids", uuids(machine_.devices), Fact::Compare::kExactly);
  add_settings(facts, machine_.devices);
  add_load(facts);
  return facts;
}

}  // namespace assay::sweep
