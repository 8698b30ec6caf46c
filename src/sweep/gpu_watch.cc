#include "sweep/gpu_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/statistics.h"
#include "core/text.h"
#include "gpu/devices.h"

namespace assay::sweep {
namespace {

using model::Cell;
using model::Fact;

// Below this utilization, a GPU waits for the CPU or has not started, and its clocks say nothing
// about the work.
constexpr std::int64_t kBusyPercent = 50;

// In a run of a few seconds, a GPU is seen under load only once or twice, when its clocks may still
// be anywhere.
constexpr std::ptrdiff_t kEnoughLooks = 5;

std::optional<double> as_double(std::optional<std::int64_t> value) {
  if (!value) return {};
  return static_cast<double>(*value);
}

void append_devices(gpu::Machine& to, gpu::Machine from) {
  const auto first = static_cast<int>(to.devices.size());
  for (gpu::Device& device : from.devices)
    device.index += first;
  if (to.driver_version.empty()) to.driver_version = from.driver_version;
  if (to.cuda_driver_version.empty()) to.cuda_driver_version = from.cuda_driver_version;
  if (to.nvml_version.empty()) to.nvml_version = from.nvml_version;
  std::move(from.devices.begin(), from.devices.end(), std::back_inserter(to.devices));
}

constexpr double kClockTolerancePercent = 3;

Cell whole(double value) {
  return std::int64_t{std::llround(value)};
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

}  // namespace

GpuWatch::GpuWatch(const ObserverSources& sources) {
  readers_.push_back(gpu::nvidia_reader(sources.nvml_library));
  readers_.push_back(gpu::amd_reader(sources.root));
}

gpu::Machine GpuWatch::read(gpu::DeviceReader::Detail detail) {
  gpu::Machine machine;
  for (const auto& reader : readers_) {
    auto read = reader->read(detail);
    if (read.ok()) {
      append_devices(machine, std::move(read).value());
    } else {
      problems_.insert("the GPUs were not watched: " + read.error().message);
    }
  }
  for (const gpu::Device& device : machine.devices) {
    if (device.problem.empty()) continue;
    problems_.insert(fmt::format("GPU {} does not answer: {}", device.index, device.problem));
  }
  return machine;
}

const gpu::Machine& GpuWatch::begin_run() {
  problems_.clear();
  looks_ = 0;
  samples_.clear();
  slow_looks_.clear();
  machine_ = read(gpu::DeviceReader::Detail::kAll);
  return machine_;
}

gpu::Machine GpuWatch::look() {
  gpu::Machine machine = read(gpu::DeviceReader::Detail::kState);
  ++looks_;
  for (const gpu::Device& device : machine.devices) {
    if (device.problem.empty()) add_sample(device);
  }
  return machine;
}

void GpuWatch::add_sample(const gpu::Device& device) {
  samples_[device.index].push_back({
      .busy = device.utilization_percent.value_or(kBusyPercent) >= kBusyPercent,
      .sm_mhz = as_double(device.sm.now_mhz),
      .memory_mhz = as_double(device.memory.now_mhz),
      .temperature_celsius = device.temperature_celsius,
      .power_watts = device.power_watts,
  });
  // Some GPUs report a power cap while they are idle.
  if (!samples_[device.index].back().busy) return;
  for (const gpu::ClockReason& reason : device.clock_reasons) {
    if (reason.kind == gpu::ClockReason::Kind::kExpected) continue;
    ++slow_looks_[reason.words][device.index];
  }
}

// Returns one median for each GPU, over the looks at which it was busy.
std::vector<double> GpuWatch::medians(Field field) const {
  std::vector<double> medians;
  for (const auto& [index, samples] : samples_) {
    std::vector<double> values;
    for (const Sample& sample : samples) {
      if (sample.busy && sample.*field) values.push_back(*(sample.*field));
    }
    if (!values.empty()) medians.push_back(core::median(values));
  }
  return medians;
}

bool GpuWatch::seen_enough() const {
  return std::all_of(samples_.begin(), samples_.end(), [](const auto& gpu) {
    const auto busy = std::count_if(gpu.second.begin(), gpu.second.end(),
                                    [](const Sample& sample) { return sample.busy; });
    return busy >= kEnoughLooks;
  });
}

std::string GpuWatch::held_down() const {
  std::vector<std::string> texts;
  for (const auto& [reason, looks_of_gpu] : slow_looks_) {
    std::set<int> gpus;
    std::size_t most = 0;
    for (const auto& [index, looks] : looks_of_gpu) {
      gpus.insert(index);
      most = std::max(most, looks);
    }
    texts.push_back(
        fmt::format("{}: {} in {} of {} looks", reason, gpu::gpu_names(gpus), most, looks_));
  }
  return core::join(texts, "; ");
}

std::vector<std::string> GpuWatch::warnings() const {
  std::vector<std::string> warnings(problems_.begin(), problems_.end());
  for (const auto& [reason, looks_of_gpu] : slow_looks_)
    warnings.push_back("GPU clocks were held down by " + reason);
  return warnings;
}

// The names of the facts do not depend on what was seen, and each fact covers all GPUs, so that
// runs can be compared.
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
  model::Facts facts = gpu::machine_facts(machine_);
  if (!facts.empty()) add_load(facts);
  return facts;
}

}  // namespace assay::sweep
