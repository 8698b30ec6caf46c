// Heat, errors and links.
#include <fmt/core.h>

#include <algorithm>

#include "doctor/doctor_checks.h"

namespace assay::doctor {
namespace {

constexpr double kLittleMarginCelsius = 5;
constexpr double kSomeMarginCelsius = 15;

void check_heat(GpuFindings& findings, int gpu, double margin_celsius) {
  if (margin_celsius >= kSomeMarginCelsius) {
    findings.add(gpu, ok(fmt::format("at least {:.0f} C below slowdown", kSomeMarginCelsius)));
    return;
  }
  findings.add(gpu,
               {.level = margin_celsius < kLittleMarginCelsius ? Level::kWarning : Level::kNote,
                .seen = fmt::format("only {:.0f} C until it slows itself down",
                                    std::max(margin_celsius, 0.0)),
                .why = "under load it gets warmer and lowers its clocks",
                .hint = "see to the cooling, or let it cool down first"});
}

void check_ecc_errors(GpuFindings& findings, int gpu, std::uint64_t errors) {
  if (errors == 0) {
    findings.add(gpu, ok("no uncorrected memory error since the driver was loaded"));
    return;
  }
  findings.add(
      gpu, {.level = Level::kProblem,
            .seen = fmt::format("{} uncorrected memory errors since the driver was loaded", errors),
            .why = "results may be wrong, and processes that meet one are ended",
            .hint = "reset the GPU; if they come back, have it replaced",
            .commands = {"nvidia-smi -i {gpus} -q -d ECC,ROW_REMAPPER"}});
}

void check_pcie(GpuFindings& findings, int gpu, std::int64_t width, std::int64_t most) {
  if (width >= most) {
    findings.add(gpu, ok(fmt::format("PCIe with all {} lanes", most)));
    return;
  }
  findings.add(
      gpu, {.level = Level::kWarning,
            .seen = fmt::format("PCIe with {} of {} lanes", width, most),
            .why = "copies to and from the host, and collectives over PCIe, are slower",
            .hint = "look at the card, its riser and the settings of the firmware",
            .commands = {"nvidia-smi -i {gpus} "
                         "--query-gpu=pcie.link.width.current,pcie.link.width.max --format=csv"}});
}

void check_nvlink(GpuFindings& findings, const gpu::Health& health) {
  const auto active = std::count_if(health.links.begin(), health.links.end(),
                                    [](const gpu::Link& link) { return link.active; });
  const auto all = static_cast<std::ptrdiff_t>(health.links.size());
  if (active == all) {
    findings.add(health.index, ok(fmt::format("all {} NVLinks are active", all)));
  } else {
    findings.add(
        health.index,
        {.level = Level::kWarning,
         .seen = fmt::format("{} of {} NVLinks are inactive", all - active, all),
         .why = "collectives get a part of the bandwidth that this machine should have",
         .hint = "with NVSwitch, the fabric manager must run",
         .commands = {"nvidia-smi nvlink -s -i {gpus}", "systemctl status nvidia-fabricmanager"}});
  }
  std::uint64_t recoveries = 0;
  std::uint64_t corrected = 0;
  for (const gpu::Link& link : health.links) {
    recoveries += link.recoveries;
    corrected += link.corrected;
  }
  if (recoveries + corrected == 0) return;
  findings.add(health.index, {.level = recoveries > 0 ? Level::kWarning : Level::kNote,
                              .seen = fmt::format("NVLink errors: {} recoveries, {} corrected",
                                                  recoveries, corrected),
                              .why = "each costs time, and a growing count tells of a bad link",
                              .commands = {"nvidia-smi nvlink -e -i {gpus}"}});
}

}  // namespace

void check_health(GpuFindings& findings, const gpu::Device& device, const gpu::Health& health) {
  if (health.thermal_margin_celsius) {
    check_heat(findings, device.index, *health.thermal_margin_celsius);
  }
  if (health.uncorrected_ecc_errors) {
    check_ecc_errors(findings, device.index, *health.uncorrected_ecc_errors);
  }
  if (health.pcie_width && health.max_pcie_width) {
    check_pcie(findings, device.index, *health.pcie_width, *health.max_pcie_width);
  }
}

void check_links(GpuFindings& findings,
                 const gpu::Health& health,
                 const std::vector<gpu::Device>& all) {
  if (all.size() < 2) return;
  if (!health.links.empty()) check_nvlink(findings, health);
  std::vector<int> missing;
  for (const gpu::Device& device : all) {
    const auto& unreachable = health.unreachable;
    const bool is_missing =
        std::find(unreachable.begin(), unreachable.end(), device.index) != unreachable.end();
    if (is_missing) missing.push_back(device.index);
  }
  if (missing.empty()) {
    findings.add(health.index, ok("peer access to the other GPUs"));
    return;
  }
  findings.add(health.index,
               {.level = Level::kWarning,
                .seen = "no peer access to " + gpu::gpu_names({missing.begin(), missing.end()}),
                .why = "data between them goes through the host's memory",
                .hint = "virtual machines, and an IOMMU or ACS that is on, often forbid it",
                .commands = {"nvidia-smi topo -p2p rw"}});
}

}  // namespace assay::doctor
