#include "gpu/clock_reasons.h"

#include <fmt/core.h>

namespace assay::gpu {
namespace {

struct KnownReason {
  unsigned long long bit;
  const char* words;
  ClockReason::Kind kind;
};

// NvmlClocksEventReasons of the NVML API Reference.
constexpr KnownReason kKnownReasons[] = {
    {0x001, "idle", ClockReason::Kind::kExpected},
    {0x002, "application clock setting", ClockReason::Kind::kExpected},
    {0x004, "software power cap", ClockReason::Kind::kSlowdown},
    {0x008, "hardware slowdown", ClockReason::Kind::kSlowdown},
    {0x010, "sync boost", ClockReason::Kind::kSlowdown},
    {0x020, "software thermal slowdown", ClockReason::Kind::kSlowdown},
    {0x040, "hardware thermal slowdown", ClockReason::Kind::kSlowdown},
    {0x080, "hardware power brake", ClockReason::Kind::kSlowdown},
    {0x100, "display clock setting", ClockReason::Kind::kExpected},
};

}  // namespace

std::vector<ClockReason> clock_reasons(unsigned long long bits) {
  std::vector<ClockReason> reasons;
  for (const KnownReason& known : kKnownReasons) {
    if ((bits & known.bit) != 0) reasons.push_back({known.words, known.kind});
    bits &= ~known.bit;
  }
  if (bits != 0) reasons.push_back({.words = fmt::format("unknown reason {:#x}", bits)});
  return reasons;
}

}  // namespace assay::gpu
