#include <fmt/core.h>

#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "gpu/devices.h"
#include "gpu/nvml.h"

namespace assay::gpu {
namespace {

using nvml::ask;
using nvml::ask_text;
using nvml::Functions;
using nvml::Handle;
using nvml::thousandths;

// The current state of a mode, which may have another one after the next boot.
template <class Function>
std::optional<bool> ask_mode(Function function, Handle handle) {
  unsigned current = 0;
  unsigned pending = 0;
  if (function == nullptr || function(handle, &current, &pending) != nvml::kSuccess) return {};
  return current != 0;
}

// The limits of the hardware. They are asked for once, as that takes 2 ms each.
struct MaximumClocks {
  std::optional<std::int64_t> sm_mhz;
  std::optional<std::int64_t> memory_mhz;
};

MaximumClocks read_maximum_clocks(const Functions& nvml, Handle handle) {
  return {.sm_mhz = ask<unsigned>(nvml.max_clock_mhz, handle, nvml::kSmClock),
          .memory_mhz = ask<unsigned>(nvml.max_clock_mhz, handle, nvml::kMemoryClock)};
}

std::string process_name(const Functions& nvml, unsigned pid) {
  std::array<char, 256> text{};
  if (nvml.process_name == nullptr ||
      nvml.process_name(pid, text.data(), text.size()) != nvml::kSuccess) {
    return {};
  }
  text.back() = '\0';
  // Some drivers add the arguments of the program.
  const std::string path(text.data(), std::strcspn(text.data(), " "));
  return path.substr(path.rfind('/') + 1);
}

std::vector<Process> read_processes(const Functions& nvml, Handle handle) {
  if (nvml.compute_processes == nullptr) return {};
  // The list may grow between the question for its length and the one for its content: ask with
  // room to spare, a few times.
  std::vector<nvml::ProcessInfo> infos(32);
  auto code = nvml::kInsufficientSize;
  for (int attempt = 0; attempt < 4 && code == nvml::kInsufficientSize; ++attempt) {
    auto count = static_cast<unsigned>(infos.size());
    code = nvml.compute_processes(handle, &count, infos.data());
    infos.resize(code == nvml::kInsufficientSize ? std::size_t{count} * 2 + 32 : count);
  }
  if (code != nvml::kSuccess) return {};
  std::vector<Process> processes;
  for (const nvml::ProcessInfo& info : infos) {
    Process process{.pid = info.pid};
    if (info.used_bytes != nvml::kNotAvailable) process.used_bytes = info.used_bytes;
    processes.push_back(std::move(process));
  }
  return processes;
}

void read_state(const Functions& nvml, Handle handle, Device& device) {
  device.sm.now_mhz = ask<unsigned>(nvml.clock_mhz, handle, nvml::kSmClock);
  device.memory.now_mhz = ask<unsigned>(nvml.clock_mhz, handle, nvml::kMemoryClock);
  device.temperature_celsius = nvml::temperature_celsius(nvml, handle);
  device.power_watts = thousandths(ask<unsigned>(nvml.power_milliwatts, handle));
  if (const auto utilization = ask<nvml::Utilization>(nvml.utilization, handle)) {
    device.utilization_percent = utilization->gpu_percent;
  }
  const auto reasons = ask<unsigned long long>(nvml.clock_reasons, handle);
  device.clock_reasons = nvml::clock_reasons(reasons.value_or(0));
  device.processes = read_processes(nvml, handle);
}

// Reads the values that do not change while work runs.
void read_settings(const Functions& nvml, Handle handle, Device& device) {
  device.name = ask_text(nvml.name, handle);
  device.uuid = ask_text(nvml.uuid, handle);
  if (const auto pci = ask<nvml::PciInfo>(nvml.pci_info, handle)) {
    device.bus_id.assign(pci->bus_id, ::strnlen(pci->bus_id, sizeof pci->bus_id));
  }
  if (const auto mode = ask<unsigned>(nvml.persistence_mode, handle)) {
    device.persistence_mode = *mode != 0;
  }
  device.ecc = ask_mode(nvml.ecc_mode, handle);
  device.mig = ask_mode(nvml.mig_mode, handle);
  device.power_limit_watts = thousandths(ask<unsigned>(nvml.power_limit_milliwatts, handle));
  device.sm.application_mhz = ask<unsigned>(nvml.application_clock_mhz, handle, nvml::kSmClock);
  device.memory.application_mhz =
      ask<unsigned>(nvml.application_clock_mhz, handle, nvml::kMemoryClock);
  device.sm.default_application_mhz =
      ask<unsigned>(nvml.default_application_clock_mhz, handle, nvml::kSmClock);
  device.memory.default_application_mhz =
      ask<unsigned>(nvml.default_application_clock_mhz, handle, nvml::kMemoryClock);
  for (Process& process : device.processes)
    process.name = process_name(nvml, static_cast<unsigned>(process.pid));
}

Device read_device(const Functions& nvml,
                   Handle handle,
                   unsigned index,
                   DeviceReader::Detail detail) {
  Device device{.index = static_cast<int>(index)};
  read_state(nvml, handle, device);
  if (detail == DeviceReader::Detail::kAll) read_settings(nvml, handle, device);
  return device;
}

std::string cuda_version(std::optional<int> number) {
  if (!number || *number <= 0) return {};
  return fmt::format("{}.{}", *number / 1000, *number % 1000 / 10);
}

class NvidiaReader : public DeviceReader {
 public:
  explicit NvidiaReader(std::string library_name) : library_name_(std::move(library_name)) {}

  core::Result<Machine> read(Detail detail) override {
    if (!opened_) opened_ = nvml::Library::open(library_name_);
    if (!opened_->ok()) return opened_->error();
    const nvml::Library* library = opened_->value().get();
    if (library == nullptr) return Machine{};
    return read_machine(*library, detail);
  }

 private:
  core::Result<Machine> read_machine(const nvml::Library& library, Detail detail) {
    const Functions& nvml = library.functions();
    Machine machine;
    if (detail == Detail::kAll) {
      machine.driver_version = ask_text(nvml.driver_version);
      machine.cuda_driver_version = cuda_version(ask<int>(nvml.cuda_driver_version));
      machine.nvml_version = ask_text(nvml.nvml_version);
    }
    unsigned count = 0;
    if (const nvml::Return code = nvml.count(&count); code != nvml::kSuccess) {
      return core::Error{fmt::format("NVML does not count GPUs: {}", library.error_text(code))};
    }
    for (unsigned index = 0; index < count; ++index)
      add_device(library, index, detail, machine);
    return machine;
  }

  void add_device(const nvml::Library& library, unsigned index, Detail detail, Machine& machine) {
    const Functions& nvml = library.functions();
    Handle handle = nullptr;
    const nvml::Return code = nvml.handle(index, &handle);
    if (code == nvml::kNoPermission) return;  // another container's GPU
    if (code != nvml::kSuccess) {
      machine.devices.push_back(
          {.index = static_cast<int>(index), .problem = library.error_text(code)});
      return;
    }
    machine.devices.push_back(read_device(nvml, handle, index, detail));
    if (detail == Detail::kAll) add_maximum_clocks(nvml, handle, machine.devices.back());
  }

  void add_maximum_clocks(const Functions& nvml, Handle handle, Device& device) {
    const auto [known, is_new] = maximum_clocks_.try_emplace(handle);
    if (is_new) known->second = read_maximum_clocks(nvml, handle);
    device.sm.max_mhz = known->second.sm_mhz;
    device.memory.max_mhz = known->second.memory_mhz;
  }

  std::map<Handle, MaximumClocks> maximum_clocks_;
  std::string library_name_;
  std::optional<core::Result<std::unique_ptr<nvml::Library>>> opened_;
};

}  // namespace

std::unique_ptr<DeviceReader> nvidia_reader(std::string library) {
  return std::make_unique<NvidiaReader>(std::move(library));
}

}  // namespace assay::gpu
