#include "collect/conditions.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/statistics.h"

namespace assay::collect {
namespace {

constexpr double kSlowClock = 0.9;
constexpr double kDrift = 0.02;
constexpr std::size_t kFewestForDrift = 9;

bool is_drifting(const model::Timing& timing) {
  const std::span<const double> samples = timing.samples_ms;
  if (samples.size() < kFewestForDrift) return false;
  const std::size_t third = samples.size() / 3;
  const double change =
      std::fabs(core::median(samples.last(third)) - core::median(samples.first(third)));
  return change > kDrift * timing.median_ms && change > (timing.p90_ms - timing.p10_ms) / 2;
}

bool is_throttled(const DeviceState& before, const DeviceState& after) {
  if (!after.slowdowns.empty()) return true;
  return before.sm_mhz && after.sm_mhz &&
         static_cast<double>(*after.sm_mhz) < kSlowClock * static_cast<double>(*before.sm_mhz);
}

}  // namespace

model::Conditions conditions(const DeviceState& before,
                             const DeviceState& after,
                             const model::Timing& timing) {
  model::Conditions made;
  made.sm_mhz_before = before.sm_mhz;
  made.sm_mhz_after = after.sm_mhz;
  made.memory_mhz_before = before.memory_mhz;
  made.memory_mhz_after = after.memory_mhz;
  made.temperature_celsius = after.temperature_celsius;
  made.slowdowns = after.slowdowns;
  made.throttled = is_throttled(before, after);
  made.drifting = is_drifting(timing);
  return made;
}

}  // namespace assay::collect
