// The state of a device around a measurement: clocks, temperature, energy and slowdowns. A device
// without sensors has no reader.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/worker/conditions.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

// Values that the driver does not tell are empty.
struct DeviceState {
  std::optional<std::int64_t> sm_mhz = {};
  std::optional<std::int64_t> most_sm_mhz = {};  // the highest possible, or the highest seen so far
  std::optional<std::int64_t> memory_mhz = {};
  std::optional<double> temperature_celsius = {};
  std::optional<double> power_limit_watts = {};
  std::vector<std::string> slowdowns = {};  // the reasons why clocks are lowered right now
  // Whether clocks were counted on the device. The driver's figures and reasons are about 150 ms
  // old.
  bool is_counted = false;
};

class StateReader {
 public:
  StateReader() = default;
  StateReader(const StateReader&) = delete;
  StateReader& operator=(const StateReader&) = delete;
  virtual ~StateReader() = default;

  virtual core::Result<DeviceState> read() = 0;

  // Energy since the driver was loaded. NVML takes some 3 ms for it, and 10 us for all else.
  virtual core::Result<std::optional<double>> energy_joules() = 0;
};

// Returns whether the SM clock is below its highest and, if the clock was not counted on the
// device, the driver also names a reason.
bool is_slowed(const DeviceState& state);

// A measurement is throttled if the device is slowed afterwards or the SM clock fell by more than a
// tenth. It drifts if the medians of the last and the first third of the samples differ by more
// than 2 %, and by more than the samples spread.
model::Conditions conditions(const DeviceState& before,
                             const DeviceState& after,
                             const model::Timing& timing);

// A reader for an NVIDIA GPU. `gpu` is what cudaDeviceGetPCIBusId tells, or a UUID. Errors: there
// is no driver, or no such GPU. Its read() takes well below 1 ms, and fails when the GPU is lost.
core::Result<std::unique_ptr<StateReader>> nvml_state_reader(
    const std::string& gpu, const std::string& nvml_library = "libnvidia-ml.so.1");

}  // namespace assay::collect
