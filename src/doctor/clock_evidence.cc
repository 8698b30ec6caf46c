#include "doctor/clock_evidence.h"

#include <fmt/core.h>

#include <algorithm>

namespace assay::doctor {
namespace {

using Locked = ClockEvidence::Locked;

// Left alone, an idle GPU runs at an eighth to a fifth of its highest SM clock.
constexpr std::int64_t kIdleShare = 4;
constexpr std::int64_t kBusyPercent = 5;

bool limited_by_setting(const gpu::Device& device) {
  return std::any_of(device.clock_reasons.begin(), device.clock_reasons.end(),
                     [](const gpu::ClockReason& reason) {
                       return reason.kind == gpu::ClockReason::Kind::kExpected &&
                              reason.words == "application clock setting";
                     });
}

}  // namespace

ClockEvidence clock_evidence(const gpu::Device& device) {
  const gpu::Clock& sm = device.sm;
  if (limited_by_setting(device)) {
    return {Locked::kSeems, "the driver says that a setting limits its clocks"};
  }
  if (sm.application_mhz && sm.default_application_mhz &&
      *sm.application_mhz != *sm.default_application_mhz) {
    return {Locked::kSeems,
            fmt::format("its application clock was set to {} MHz ({} MHz by default)",
                        *sm.application_mhz, *sm.default_application_mhz)};
  }
  // A process that does nothing may keep the clocks up.
  const bool idle =
      device.processes.empty() && device.utilization_percent.value_or(100) < kBusyPercent;
  if (!idle || !sm.now_mhz || !sm.max_mhz) return {};
  if (*sm.now_mhz * kIdleShare <= *sm.max_mhz) {
    return {Locked::kNo, fmt::format("{} MHz while idle", *sm.now_mhz)};
  }
  return {Locked::kSeems, fmt::format("it holds {} MHz while idle", *sm.now_mhz)};
}

}  // namespace assay::doctor
