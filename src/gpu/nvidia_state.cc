#include "gpu/nvidia_state.h"

#include <fmt/core.h>

#include <utility>

#include "gpu/nvml.h"

namespace assay::gpu {
namespace {

using nvml::ask;
using nvml::Functions;
using nvml::Handle;

core::Result<Handle> find(const nvml::Library& library, const std::string& gpu) {
  const Functions& nvml = library.functions();
  const bool is_uuid = gpu.starts_with("GPU-") || gpu.starts_with("MIG-");
  const auto by_name = is_uuid ? nvml.handle_by_uuid : nvml.handle_by_bus_id;
  if (by_name == nullptr) return core::Error{"this NVML finds no GPU by its name"};
  Handle handle = nullptr;
  const nvml::Return code = by_name(gpu.c_str(), &handle);
  if (code == nvml::kSuccess) return handle;
  return core::Error{fmt::format("NVML does not find GPU {}: {}", gpu, library.error_text(code))};
}

std::vector<std::string> slowdowns(const Functions& nvml, Handle handle) {
  std::vector<std::string> words;
  const auto bits = ask<unsigned long long>(nvml.clock_reasons, handle);
  for (const ClockReason& reason : nvml::clock_reasons(bits.value_or(0))) {
    if (reason.kind == ClockReason::Kind::kSlowdown) words.push_back(reason.words);
  }
  return words;
}

}  // namespace

NvidiaStateReader::NvidiaStateReader(std::unique_ptr<nvml::Library> library)
    : library_(std::move(library)) {}

NvidiaStateReader::NvidiaStateReader(NvidiaStateReader&& other) noexcept = default;
NvidiaStateReader& NvidiaStateReader::operator=(NvidiaStateReader&& other) noexcept = default;
NvidiaStateReader::~NvidiaStateReader() = default;

core::Result<NvidiaStateReader> NvidiaStateReader::open(const std::string& library,
                                                        const std::string& gpu) {
  NvidiaStateReader reader(ASSAY_TRY(nvml::Library::open(library)));
  if (reader.library_ == nullptr) return core::Error{"there is no NVIDIA driver here"};
  const Handle handle = ASSAY_TRY(find(*reader.library_, gpu));
  const Functions& nvml = reader.library_->functions();
  reader.handle_ = handle;
  reader.power_limit_watts_ = nvml::thousandths(ask<unsigned>(nvml.power_limit_milliwatts, handle));
  reader.most_sm_mhz_ = ask<unsigned>(nvml.max_clock_mhz, handle, nvml::kSmClock);
  return reader;
}

core::Result<DeviceState> NvidiaStateReader::read() const {
  const Functions& nvml = library_->functions();
  auto* const handle = static_cast<Handle>(handle_);
  unsigned sm_mhz = 0;
  const nvml::Return code = nvml.clock_mhz == nullptr
                                ? nvml::kNotSupported
                                : nvml.clock_mhz(handle, nvml::kSmClock, &sm_mhz);
  if (code == nvml::kGpuIsLost) return core::Error{library_->error_text(code)};
  DeviceState state;
  if (code == nvml::kSuccess) state.sm_mhz = sm_mhz;
  state.most_sm_mhz = most_sm_mhz_;
  state.memory_mhz = ask<unsigned>(nvml.clock_mhz, handle, nvml::kMemoryClock);
  state.temperature_celsius = nvml::temperature_celsius(nvml, handle);
  state.power_limit_watts = power_limit_watts_;
  state.slowdowns = slowdowns(nvml, handle);
  return state;
}

std::optional<double> NvidiaStateReader::energy_joules() const {
  return nvml::thousandths(ask<unsigned long long>(library_->functions().energy_millijoules,
                                                   static_cast<Handle>(handle_)));
}

}  // namespace assay::gpu
