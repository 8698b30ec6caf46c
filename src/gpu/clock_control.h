// Locks the clocks of NVIDIA GPUs. This changes them for everybody on the machine, outlives the
// process that asked for it, and needs permission; doctor/clock_lock.h undoes it.
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
  std::optional<std::int64_t> memory_mhz = {};  // std::nullopt: left as it is
};

class ClockControl {
 public:
  // Error: there is no driver.
  static core::Result<ClockControl> open(const std::string& library);

  ClockControl(ClockControl&& other) noexcept;
  ClockControl& operator=(ClockControl&& other) noexcept;
  ~ClockControl();

  // `gpu` is a Device::index. After an error neither clock of this GPU is locked.
  [[nodiscard]] core::Status lock(int gpu, const Clocks& clocks) const;

  // Unlocks what lock() locked for the same arguments.
  [[nodiscard]] core::Status unlock(int gpu, const Clocks& clocks) const;

 private:
  explicit ClockControl(std::unique_ptr<nvml::Library> library);

  std::unique_ptr<nvml::Library> library_;
};

}  // namespace assay::gpu
