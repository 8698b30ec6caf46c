#include "gpu/nvidia_health.h"

#include <fmt/core.h>

#include "gpu/nvml.h"

namespace assay::gpu {
namespace {

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
