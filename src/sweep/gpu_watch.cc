#include "sweep/gpu_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/statistics.h"
#include "core/text.h"

namespace assay::sweep {
namespace {

// Below, a GPU waits for the CPU or has not begun: its clocks say nothing about the work.
constexpr std::int64_t kBusyPercent = 50;

// A run of some seconds is seen under load once or twice, when its clocks may be anywhere.
constexpr std::ptrdiff_t kEnoughLooks = 5;

std::optional<double> as_double(std::optional<std::int64_t> value) {
  if (!value) return {};
  return static_cast<double>(*value);
}

void append(gpu::Machine& to, gpu::Machine from) {
  const auto first = static_cast<int>(to.devices.size());
  for (gpu::Device& device : from.devices)
    device.index += first;
  if (to.driver_version.empty()) to.driver_version = from.driver_version;
  if (to.cuda_driver_version.empty()) to.cuda_driver_version = from.cuda_driver_version;
  if (to.nvml_version.empty()) to.nvml_version = from.nvml_version;
  std::move(from.devices.begin(), from.devices.end(), std::back_inserter(to.devices));
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
      append(machine, std::move(read).value());
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
  // Some GPUs tell of a power cap while they do nothing.
  if (!samples_[device.index].back().busy) return;
  for (const gpu::ClockReason& reason : device.clock_reasons) {
    if (reason.kind == gpu::ClockReason::Kind::kExpected) continue;
    ++slow_looks_[reason.words][device.index];
  }
}

// For each GPU, over the looks at which it was busy.
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

}  // namespace assay::sweep
