// Whether somebody has locked a GPU's clocks. NVML does not tell; what the GPU does tells some.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/devices.h"

namespace assay::doctor {

struct ClockEvidence {
  // kUnknown: it works, so that its clocks are high either way, or does not tell.
  enum class Locked : std::uint8_t { kNo, kSeems, kUnknown } locked = Locked::kUnknown;
  std::string words = {};  // "it holds 1500 MHz while idle"
};

ClockEvidence clock_evidence(const gpu::Device& device);

}  // namespace assay::doctor
