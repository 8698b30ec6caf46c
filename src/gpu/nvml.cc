#include "gpu/nvml.h"

#include <fmt/core.h>

#include <atomic>
#include <initializer_list>
#include <utility>

namespace assay::gpu::nvml {
namespace {

struct KnownReason {
  unsigned long long bit;
  const char* words;
  ClockReason::Kind kind;
};

// NvmlClocksEventReasons of the NVML API Reference.
constexpr KnownReason kKnownReasons[] = {
    {0x001, "idle", ClockReason::Kind::kExpected},
    {0x002, "application clock setting", ClockReason::Kind::kExpected},
    {0x004, kPowerCap, ClockReason::Kind::kSlowdown},
    {0x008, "hardware slowdown", ClockReason::Kind::kSlowdown},
    {0x010, "sync boost", ClockReason::Kind::kSlowdown},
    {0x020, "software thermal slowdown", ClockReason::Kind::kSlowdown},
    {0x040, "hardware thermal slowdown", ClockReason::Kind::kSlowdown},
    {0x080, "hardware power brake", ClockReason::Kind::kSlowdown},
    {0x100, "display clock setting", ClockReason::Kind::kExpected},
};

std::atomic<int> g_open_count{0};

// Binds the first of the names that the library exports.
template <class Function>
void bind(const core::SharedLibrary& library,
          Function& function,
          std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (library.bind(name, function)) return;
  }
}

void bind_system(const core::SharedLibrary& library, Functions& to) {
  bind(library, to.init, {"nvmlInit_v2"});
  bind(library, to.shutdown, {"nvmlShutdown"});
  bind(library, to.error_text, {"nvmlErrorString"});
  bind(library, to.driver_version, {"nvmlSystemGetDriverVersion"});
  bind(library, to.nvml_version, {"nvmlSystemGetNVMLVersion"});
  bind(library, to.cuda_driver_version,
       {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
  bind(library, to.process_name, {"nvmlSystemGetProcessName"});
  bind(library, to.count, {"nvmlDeviceGetCount_v2"});
}

void bind_device(const core::SharedLibrary& library, Functions& to) {
  bind(library, to.handle, {"nvmlDeviceGetHandleByIndex_v2"});
  bind(library, to.handle_by_bus_id, {"nvmlDeviceGetHandleByPciBusId_v2"});
  bind(library, to.handle_by_uuid, {"nvmlDeviceGetHandleByUUID"});
  bind(library, to.name, {"nvmlDeviceGetName"});
  bind(library, to.uuid, {"nvmlDeviceGetUUID"});
  bind(library, to.pci_info, {"nvmlDeviceGetPciInfo_v3"});
  bind(library, to.clock_mhz, {"nvmlDeviceGetClockInfo"});
  bind(library, to.max_clock_mhz, {"nvmlDeviceGetMaxClockInfo"});
  bind(library, to.application_clock_mhz, {"nvmlDeviceGetApplicationsClock"});
  bind(library, to.default_application_clock_mhz, {"nvmlDeviceGetDefaultApplicationsClock"});
  bind(library, to.temperature, {"nvmlDeviceGetTemperatureV"});
  bind(library, to.temperature_celsius, {"nvmlDeviceGetTemperature"});
  bind(library, to.threshold_celsius, {"nvmlDeviceGetTemperatureThreshold"});
  bind(library, to.thermal_margin, {"nvmlDeviceGetMarginTemperature"});
  bind(library, to.power_milliwatts, {"nvmlDeviceGetPowerUsage"});
  bind(library, to.power_limit_milliwatts, {"nvmlDeviceGetEnforcedPowerLimit"});
  bind(library, to.default_power_limit_milliwatts, {"nvmlDeviceGetPowerManagementDefaultLimit"});
  bind(library, to.energy_millijoules, {"nvmlDeviceGetTotalEnergyConsumption"});
  bind(library, to.utilization, {"nvmlDeviceGetUtilizationRates"});
  bind(library, to.clock_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  bind(library, to.persistence_mode, {"nvmlDeviceGetPersistenceMode"});
  bind(library, to.ecc_mode, {"nvmlDeviceGetEccMode"});
  bind(library, to.mig_mode, {"nvmlDeviceGetMigMode"});
  // _v2 comes first: drivers 525 and 530 have a _v3 with a longer struct, and in all others both
  // are the same.
  bind(library, to.compute_processes,
       {"nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses_v3"});
}

void bind_health(const core::SharedLibrary& library, Functions& to) {
  bind(library, to.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  bind(library, to.pcie_width, {"nvmlDeviceGetCurrPcieLinkWidth"});
  bind(library, to.max_pcie_width, {"nvmlDeviceGetMaxPcieLinkWidth"});
  bind(library, to.link_is_active, {"nvmlDeviceGetNvLinkState"});
  bind(library, to.link_errors, {"nvmlDeviceGetNvLinkErrorCounter"});
  bind(library, to.peer_status, {"nvmlDeviceGetP2PStatus"});
}

void bind_setters(const core::SharedLibrary& library, Functions& to) {
  bind(library, to.lock_sm_clock, {"nvmlDeviceSetGpuLockedClocks"});
  bind(library, to.unlock_sm_clock, {"nvmlDeviceResetGpuLockedClocks"});
  bind(library, to.lock_memory_clock, {"nvmlDeviceSetMemoryLockedClocks"});
  bind(library, to.unlock_memory_clock, {"nvmlDeviceResetMemoryLockedClocks"});
}

}  // namespace

Library::Library(core::SharedLibrary library) : library_(std::move(library)) {
  ++g_open_count;
  bind_system(library_, functions_);
  bind_device(library_, functions_);
  bind_health(library_, functions_);
  bind_setters(library_, functions_);
}

Library::~Library() {
  if (initialised_ && functions_.shutdown != nullptr) functions_.shutdown();
  --g_open_count;
}

int Library::open_count() {
  return g_open_count;
}

core::Result<std::unique_ptr<Library>> Library::open(const std::string& name) {
  auto opened = core::open_library({name}, RTLD_NOW | RTLD_LOCAL);
  if (!opened.ok()) return std::unique_ptr<Library>();
  std::unique_ptr<Library> library(new Library(std::move(opened.value())));
  const Functions& functions = library->functions_;
  if (functions.init == nullptr || functions.count == nullptr || functions.handle == nullptr) {
    return core::Error{fmt::format("'{}' is no NVML of driver 470 or newer", name)};
  }
  const Return code = functions.init();
  if (code == kDriverNotLoaded || code == kLibraryNotFound) return std::unique_ptr<Library>();
  if (code != kSuccess) {
    return core::Error{
        fmt::format("NVML does not start: {}; does nvidia-smi work?", library->error_text(code))};
  }
  library->initialised_ = true;
  return library;
}

std::string Library::error_text(Return code) const {
  const char* text = functions_.error_text == nullptr ? nullptr : functions_.error_text(code);
  return text == nullptr ? fmt::format("error {}", code) : text;
}

std::optional<double> temperature_celsius(const Functions& nvml, Handle handle) {
  Temperature temperature{.version = kTemperatureVersion, .sensor = kGpuSensor, .celsius = 0};
  if (nvml.temperature != nullptr && nvml.temperature(handle, &temperature) == kSuccess) {
    return temperature.celsius;
  }
  return ask<unsigned>(nvml.temperature_celsius, handle, kGpuSensor);
}

std::optional<double> thermal_margin_celsius(const Functions& nvml, Handle handle) {
  MarginTemperature margin{.version = kMarginTemperatureVersion, .celsius = 0};
  if (nvml.thermal_margin != nullptr && nvml.thermal_margin(handle, &margin) == kSuccess) {
    return margin.celsius;
  }
  const auto now = temperature_celsius(nvml, handle);
  const auto threshold = ask<unsigned>(nvml.threshold_celsius, handle, kSlowdownThreshold);
  if (!now || !threshold) return {};
  return *threshold - *now;
}

std::vector<ClockReason> clock_reasons(unsigned long long bits) {
  std::vector<ClockReason> reasons;
  for (const KnownReason& known : kKnownReasons) {
    if ((bits & known.bit) != 0) reasons.push_back({known.words, known.kind});
    bits &= ~known.bit;
  }
  if (bits != 0) reasons.push_back({.words = fmt::format("unknown reason {:#x}", bits)});
  return reasons;
}

}  // namespace assay::gpu::nvml
