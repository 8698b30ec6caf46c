// A simulation as a Chrome trace, for Perfetto and chrome://tracing: a process for each rank, a
// thread for each CPU, an arrow for each message.
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

// Of the given ranks, or of all if there are none given. Messages have arrows where both of their
// ranks are shown. About 230 bytes an operation, written as they are made. `outcome` must have
// finished.
core::Result<TimelineSize> write_timeline(const Outcome& outcome,
                                          const std::vector<std::uint32_t>& ranks,
                                          const std::filesystem::path& path);

}  // namespace assay::simulate
