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

using nvml::ask;
using nvml::Functions;
using nvml::Handle;

struct Gpu {
  int index = 0;
  Handle handle = nullptr;
};

core::Result<std::vector<Gpu>> answering_gpus(const nvml::Library& library) {
  const Functions& nvml = library.functions();
  unsigned count = 0;
  if (const nvml::Return code = nvml.count(&count); code != nvml::kSuccess) {
    return core::Error{fmt::format("NVML does not count GPUs: {}", library.error_text(code))};
  }
  std::vector<Gpu> found;
  for (unsigned index = 0; index < count; ++index) {
    const auto handle = ask<Handle>(nvml.handle, index);
    if (handle) found.push_back({static_cast<int>(index), *handle});
  }
  return found;
}

std::uint64_t link_errors(const Functions& nvml, Handle handle, unsigned link, unsigned kind) {
  return ask<unsigned long long>(nvml.link_errors, handle, link, kind).value_or(0);
}

std::vector<Link> read_links(const Functions& nvml, Handle handle) {
  std::vector<Link> links;
  for (unsigned link = 0; link < nvml::kMostLinks; ++link) {
    const auto active = ask<unsigned>(nvml.link_is_active, handle, link);
    if (!active) continue;
    links.push_back({.active = *active != 0,
                     .recoveries = link_errors(nvml, handle, link, nvml::kLinkRecoveries),
                     .corrected = link_errors(nvml, handle, link, nvml::kLinkReplays) +
                                  link_errors(nvml, handle, link, nvml::kLinkFlitErrors) +
                                  link_errors(nvml, handle, link, nvml::kLinkDataErrors)});
  }
  return links;
}

bool reaches(const Functions& nvml, Handle from, Handle to) {
  for (const unsigned kind : {nvml::kPeerReads, nvml::kPeerWrites}) {
    if (ask<unsigned>(nvml.peer_status, from, to, kind).value_or(0) != 0) return false;
  }
  return true;
}

std::vector<int> unreachable(const Functions& nvml, const std::vector<Gpu>& all, const Gpu& from) {
  std::vector<int> found;
  for (const Gpu& other : all) {
    if (other.index == from.index || reaches(nvml, from.handle, other.handle)) continue;
    found.push_back(other.index);
  }
  return found;
}

Health read_one(const Functions& nvml, const Gpu& gpu) {
  Health health{.index = gpu.index};
  health.default_power_limit_watts =
      nvml::thousandths(ask<unsigned>(nvml.default_power_limit_milliwatts, gpu.handle));
  health.thermal_margin_celsius = nvml::thermal_margin_celsius(nvml, gpu.handle);
  health.uncorrected_ecc_errors = ask<unsigned long long>(
      nvml.ecc_errors, gpu.handle, nvml::kUncorrectedErrors, nvml::kSinceDriverLoad);
  health.pcie_width = ask<unsigned>(nvml.pcie_width, gpu.handle);
  health.max_pcie_width = ask<unsigned>(nvml.max_pcie_width, gpu.handle);
  health.links = read_links(nvml, gpu.handle);
  return health;
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

core::Result<std::vector<Health>> nvidia_health(const std::string& library_name) {
  const auto library = ASSAY_TRY(nvml::Library::open(library_name));
  std::vector<Health> health;
  if (library == nullptr) return health;
  const std::vector<Gpu> all = ASSAY_TRY(answering_gpus(*library));
  for (const Gpu& gpu : all) {
    health.push_back(read_one(library->functions(), gpu));
    health.back().unreachable = unreachable(library->functions(), all, gpu);
  }
  return health;
}

}  // namespace assay::gpu
