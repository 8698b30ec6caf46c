// The state of one device around a measurement. A device without sensors has no reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

// What the driver does not tell is empty.
struct DeviceState {
  std::optional<std::int64_t> sm_mhz = {};
  std::optional<std::int64_t> most_sm_mhz = {};  // that it can have, or has had since the start
  std::optional<std::int64_t> memory_mhz = {};
  std::optional<double> temperature_celsius = {};
  std::optional<double> power_limit_watts = {};
  std::vector<std::string> slowdowns = {};  // reasons of lowered clocks, right now
  // Clocks were counted on the device; the driver's figures and reasons are some 150 ms old.
  bool is_counted = false;
};

class StateReader {
 public:
  StateReader() = default;
  StateReader(const StateReader&) = delete;
  StateReader& operator=(const StateReader&) = delete;
  virtual ~StateReader() = default;

  virtual core::Result<DeviceState> read() = 0;

  // Since the driver was loaded. NVML takes some 3 ms to answer, and 10 us for all else.
  virtual core::Result<std::optional<double>> energy_joules() = 0;
};

// The SM clock is below its highest; where it was not counted, the driver also names a reason.
bool is_slowed(const DeviceState& state);

// Throttled: slowed after the measurement, or the SM clock fell by more than a tenth. Drifting: the
// last third of the samples is further from the first than 2 % and than the samples spread.
model::Conditions conditions(const DeviceState& before,
                             const DeviceState& after,
                             const model::Timing& timing);

}  // namespace assay::collect
