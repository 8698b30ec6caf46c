// Writes a simulation as a Chrome trace for Perfetto and chrome://tracing: a process per rank, a
// thread per CPU, an arrow per message; with a network that contends, a counter for each of the
// busiest links.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/result.h"
#include "simulate/simulate.h"

namespace assay::simulate {

struct TimelineSize {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;
};

// Writes the given ranks, or all if none are given. A message has an arrow when both of its ranks
// are shown. A trace has about 230 bytes per operation and is written piece by piece. `outcome`
// must have finished.
core::Result<TimelineSize> write_timeline(const Outcome& outcome,
                                          const std::vector<std::uint32_t>& ranks,
                                          const std::filesystem::path& path);

}  // namespace assay::simulate
