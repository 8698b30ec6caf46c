// The checks of one GPU: settings, use, heat, errors and links.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "doctor/clock_lock.h"
#include "doctor/doctor_checks.h"

namespace assay::doctor {
namespace {

constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;

void check_persistence(GpuFindings& findings, const gpu::Device& device) {
  if (!device.persistence_mode) return;
  if (*device.persistence_mode) {
    findings.add(device.index, ok("persistence mode is on"));
    return;
  }
  findings.add(device.index,
               {.level = Level::kWarning,
                .seen = "persistence mode is off",
                .why = "without it the driver unloads when no process uses the GPU: the next start "
                       "takes seconds, and locked clocks are forgotten",
                .commands = {"sudo nvidia-smi -i {gpus} -pm 1"}});
}

std::vector<std::string> commands_to_lock(const gpu::Device& device) {
  std::vector<std::string> commands;
  for (const auto& [option, clock] : {std::pair("-lgc", device.sm), {"-lmc", device.memory}}) {
    if (!clock.max_mhz) continue;
    commands.push_back(
        fmt::format("sudo nvidia-smi -i {{gpus}} {0} {1},{1}", option, *clock.max_mhz));
  }
  return commands;
}

void check_clocks(GpuFindings& findings, const gpu::Device& device) {
  const ClockEvidence evidence = clock_evidence(device);
  if (evidence.locked == ClockEvidence::Locked::kSeems) {
    findings.add(device.index, ok("clocks seem to be locked: " + evidence.words));
  } else if (evidence.locked == ClockEvidence::Locked::kNo) {
    findings.add(device.index,
                 {.level = Level::kWarning,
                  .seen = "clocks are not locked: " + evidence.words,
                  .why = "clocks follow load and heat, so that the same kernel takes another time",
                  .commands = commands_to_lock(device)});
  } else {
    findings.add(device.index,
                 {.level = Level::kNote,
                  .seen = "cannot tell whether clocks are locked: the GPU works, or does not say",
                  .why = "unlocked clocks follow load and heat",
                  .hint = "look again when nothing runs there"});
  }
}

void check_modes(GpuFindings& findings, const gpu::Device& device) {
  if (device.mig.value_or(false)) {
    findings.add(device.index,
                 {.level = Level::kProblem,
                  .seen = "MIG is on",
                  .why = "a slice of a GPU is measured, and slices share its memory bandwidth",
                  .commands = {"sudo nvidia-smi -i {gpus} -mig 0"}});
  } else if (device.mig) {
    findings.add(device.index, ok("MIG is off"));
  }
  if (device.ecc && !*device.ecc) {
    findings.add(device.index,
                 {.level = Level::kNote,
                  .seen = "ECC is off",
                  .why = "data centres run with ECC, which can cost some memory bandwidth",
                  .hint = "turned on, it takes effect after a reset of the GPU",
                  .commands = {"sudo nvidia-smi -i {gpus} -e 1"}});
  } else if (device.ecc) {
    findings.add(device.index, ok("ECC is on"));
  }
}

void check_power_limit(GpuFindings& findings,
                       const gpu::Device& device,
                       const gpu::Health* health) {
  if (health == nullptr || !health->default_power_limit_watts || !device.power_limit_watts) return;
  const double usual = *health->default_power_limit_watts;
  if (*device.power_limit_watts >= usual) {
    findings.add(device.index, ok(fmt::format("the power limit is the default, {:.0f} W", usual)));
    return;
  }
  findings.add(device.index,
               {.level = Level::kWarning,
                .seen = fmt::format("the power limit is {:.0f} W; the default is {:.0f} W",
                                    *device.power_limit_watts, usual),
                .why = "large kernels run into the limit and lower their clocks",
                .commands = {fmt::format("sudo nvidia-smi -i {{gpus}} -pl {:.0f}", usual)}});
}

std::string described(const gpu::Process& process) {
  const std::string name = process.name.empty() ? "" : fmt::format(" ({})", process.name);
  const std::string memory =
      process.used_bytes ? fmt::format(", {:.1f} GiB of memory",
                                       static_cast<double>(*process.used_bytes) / kBytesPerGib)
                         : "";
  return fmt::format("process {}{} uses it{}", process.pid, name, memory);
}

// Some GPUs report a power cap while they do nothing.
bool counts(const gpu::ClockReason& reason, const gpu::Device& device) {
  if (reason.kind == gpu::ClockReason::Kind::kExpected) return false;
  return reason.words != gpu::kPowerCap || device.utilization_percent.value_or(100) >= kBusyPercent;
}

void check_slowdowns(GpuFindings& findings, const gpu::Device& device) {
  std::vector<std::string> words;
  for (const gpu::ClockReason& reason : device.clock_reasons) {
    if (counts(reason, device)) words.push_back(reason.words);
  }
  if (words.empty()) {
    findings.add(device.index, ok("nothing slows it down now"));
    return;
  }
  findings.add(device.index,
               {.level = Level::kWarning,
                .seen = "slowed down now by " + core::join(words, ", "),
                .why = "what is measured now is slower than this GPU can be",
                .commands = {"nvidia-smi -i {gpus} -q -d PERFORMANCE,TEMPERATURE,POWER"}});
}

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

Finding ok(std::string seen) {
  return {.level = Level::kOk, .seen = std::move(seen)};
}

void check_settings(GpuFindings& findings, const gpu::Device& device, const gpu::Health* health) {
  check_persistence(findings, device);
  check_clocks(findings, device);
  check_modes(findings, device);
  check_power_limit(findings, device, health);
}

void check_processes(GpuFindings& findings, const gpu::Device& device) {
  for (const gpu::Process& process : device.processes) {
    findings.add(
        device.index,
        {.level = Level::kProblem,
         .seen = described(process),
         .why = "its kernels run between those that are measured, and its memory is missing",
         .hint = "wait for its end, or measure on other GPUs with --gpus",
         .commands = {fmt::format("ps -fp {}", process.pid)}});
  }
  if (!device.processes.empty()) return;
  const std::int64_t busy = device.utilization_percent.value_or(0);
  if (busy < kBusyPercent) {
    findings.add(device.index, ok("nobody uses it"));
    return;
  }
  findings.add(device.index,
               {.level = Level::kProblem,
                .seen = fmt::format("it is busy ({} %), though no process is seen", busy),
                .why = "another container or user computes there, at the cost of what is measured",
                .hint = "look on the host, outside of containers",
                .commands = {"nvidia-smi -i {gpus}"}});
}

void check_use(GpuFindings& findings, const gpu::Device& device) {
  check_processes(findings, device);
  check_slowdowns(findings, device);
}

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

void GpuFindings::add(int gpu, Finding finding) {
  const auto same = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.finding.level == finding.level && entry.finding.seen == finding.seen &&
           entry.finding.commands == finding.commands;
  });
  if (same != entries_.end()) {
    same->gpus.insert(gpu);
  } else {
    entries_.push_back({std::move(finding), {gpu}});
  }
}

std::vector<Finding> GpuFindings::take() const {
  constexpr std::string_view kPlace = "{gpus}";
  std::vector<Finding> findings;
  for (const Entry& entry : entries_) {
    findings.push_back(entry.finding);
    findings.back().where = gpu::gpu_names(entry.gpus);
    for (std::string& line : findings.back().commands) {
      const auto at = line.find(kPlace);
      if (at == std::string::npos) continue;
      line.replace(at, kPlace.size(),
                   core::join(std::vector(entry.gpus.begin(), entry.gpus.end()), ","));
    }
  }
  return findings;
}

const gpu::Health* health_of(const std::vector<gpu::Health>& health, int index) {
  const auto found = std::find_if(health.begin(), health.end(),
                                  [&](const gpu::Health& gpu) { return gpu.index == index; });
  return found == health.end() ? nullptr : &*found;
}

}  // namespace assay::doctor
