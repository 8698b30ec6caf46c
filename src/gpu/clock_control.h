// Locks the clocks of NVIDIA GPUs. This changes them for everybody on the machine, outlives the
// process that asked for it, and needs the right to; doctor/clock_lock.h sees to the undoing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/result.h"

namespace assay::gpu {

namespace nvml {
class Library;
}  // namespace nvml

struct Clocks {
  std::int64_t sm_mhz = 0;
  std::optional<std::int64_t> memory_mhz = {};  // nothing: as it is
};

class ClockControl {
 public:
  // Error: no driver.
  static core::Result<ClockControl> open(const std::string& library);

  ClockControl(ClockControl&& other) noexcept;
  ClockControl& operator=(ClockControl&& other) noexcept;
  ~ClockControl();

  // `gpu` as Device::index. After an error nothing of this GPU is locked.
  [[nodiscard]] core::Status lock(int gpu, const Clocks& clocks) const;

  // Of what lock() locks.
  [[nodiscard]] core::Status unlock(int gpu, const Clocks& clocks) const;

 private:
  explicit ClockControl(std::unique_ptr<nvml::Library> library);

  std::unique_ptr<nvml::Library> library_;
};

}  // namespace assay::gpu
