#include "gpu/clock_control.h"

#include <fmt/core.h>

#include <utility>

#include "gpu/nvml.h"

namespace assay::gpu {
namespace {

using nvml::Handle;
using nvml::Library;
using nvml::Return;

core::Result<Handle> handle_of(const Library& library, int gpu) {
  Handle handle = nullptr;
  const Return code = library.functions().handle(static_cast<unsigned>(gpu), &handle);
  if (code == nvml::kSuccess) return handle;
  return core::Error{fmt::format("GPU {} does not answer: {}", gpu, library.error_text(code))};
}

// `doing` is "lock the SM clock".
core::Status outcome(const Library& library, int gpu, const char* doing, Return code) {
  if (code == nvml::kSuccess) return {};
  if (code == nvml::kNoPermission) {
    return core::Error{fmt::format("cannot {} of GPU {}: only root may", doing, gpu)};
  }
  return core::Error{fmt::format("cannot {} of GPU {}: {}", doing, gpu, library.error_text(code))};
}

core::Status set(const Library& library, int gpu, unsigned clock, std::int64_t mhz) {
  const Handle handle = ASSAY_TRY(handle_of(library, gpu));
  const nvml::Functions& nvml = library.functions();
  const bool memory = clock == nvml::kMemoryClock;
  const auto lock = memory ? nvml.lock_memory_clock : nvml.lock_sm_clock;
  const auto value = static_cast<unsigned>(mhz);
  return outcome(library, gpu, memory ? "lock the memory clock" : "lock the SM clock",
                 lock == nullptr ? nvml::kNotSupported : lock(handle, value, value));
}

core::Status reset(const Library& library, int gpu, unsigned clock) {
  const Handle handle = ASSAY_TRY(handle_of(library, gpu));
  const nvml::Functions& nvml = library.functions();
  const bool memory = clock == nvml::kMemoryClock;
  const auto unlock = memory ? nvml.unlock_memory_clock : nvml.unlock_sm_clock;
  return outcome(library, gpu, memory ? "unlock the memory clock" : "unlock the SM clock",
                 unlock == nullptr ? nvml::kNotSupported : unlock(handle));
}

}  // namespace

ClockControl::ClockControl(std::unique_ptr<nvml::Library> library) : library_(std::move(library)) {}

ClockControl::ClockControl(ClockControl&& other) noexcept = default;
ClockControl& ClockControl::operator=(ClockControl&& other) noexcept = default;
ClockControl::~ClockControl() = default;

core::Result<ClockControl> ClockControl::open(const std::string& library) {
  ClockControl control(ASSAY_TRY(Library::open(library)));
  if (control.library_ == nullptr) return core::Error{"there is no NVIDIA driver here"};
  return control;
}

core::Status ClockControl::lock(int gpu, const Clocks& clocks) const {
  core::Status locked = set(*library_, gpu, nvml::kSmClock, clocks.sm_mhz);
  if (!locked.ok() || !clocks.memory_mhz) return locked;
  locked = set(*library_, gpu, nvml::kMemoryClock, *clocks.memory_mhz);
  if (locked.ok()) return locked;
  const core::Status undone = reset(*library_, gpu, nvml::kSmClock);
  if (undone.ok()) return locked;
  return core::Error{locked.error().message + "; " + undone.error().message};
}

core::Status ClockControl::unlock(int gpu, const Clocks& clocks) const {
  core::Status sm = reset(*library_, gpu, nvml::kSmClock);
  if (!clocks.memory_mhz) return sm;
  core::Status memory = reset(*library_, gpu, nvml::kMemoryClock);
  return sm.ok() ? memory : sm;
}

}  // namespace assay::gpu
