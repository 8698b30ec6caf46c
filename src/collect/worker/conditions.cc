#include "collect/worker/conditions.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/statistics.h"
#include "gpu/nvidia_state.h"

namespace assay::collect {
namespace {

constexpr double kSlowClock = 0.9;
constexpr double kFullClock = 0.97;
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

// Returns false where one of the clocks is not known.
bool is_below(const std::optional<std::int64_t>& clock,
              double share,
              const std::optional<std::int64_t>& other) {
  return clock && other && static_cast<double>(*clock) < share * static_cast<double>(*other);
}

bool is_throttled(const DeviceState& before, const DeviceState& after) {
  return is_slowed(after) || is_below(after.sm_mhz, kSlowClock, before.sm_mhz);
}

class NvmlStateReader final : public StateReader {
 public:
  explicit NvmlStateReader(gpu::NvidiaStateReader reader) : reader_(std::move(reader)) {}

  core::Result<DeviceState> read() override {
    gpu::DeviceState state = ASSAY_TRY(reader_.read());
    return DeviceState{.sm_mhz = state.sm_mhz,
                       .most_sm_mhz = state.most_sm_mhz,
                       .memory_mhz = state.memory_mhz,
                       .temperature_celsius = state.temperature_celsius,
                       .power_limit_watts = state.power_limit_watts,
                       .slowdowns = std::move(state.slowdowns)};
  }

  core::Result<std::optional<double>> energy_joules() override { return reader_.energy_joules(); }

 private:
  gpu::NvidiaStateReader reader_;
};

}  // namespace

bool is_slowed(const DeviceState& state) {
  const bool is_slow = is_below(state.sm_mhz, kFullClock, state.most_sm_mhz);
  if (state.is_counted) return is_slow;
  const bool is_full = state.sm_mhz && state.most_sm_mhz && !is_slow;
  return !state.slowdowns.empty() && !is_full;
}

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

core::Result<std::unique_ptr<StateReader>> nvml_state_reader(const std::string& gpu,
                                                             const std::string& nvml_library) {
  auto reader = ASSAY_TRY(gpu::NvidiaStateReader::open(nvml_library, gpu));
  return std::unique_ptr<StateReader>(std::make_unique<NvmlStateReader>(std::move(reader)));
}

}  // namespace assay::collect
