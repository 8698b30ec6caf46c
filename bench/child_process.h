// Runs work in its own process, so that its CPU time and peak memory can be measured separately.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay::bench {

struct Usage {
  double cpu_s = 0;    // user and system time of all threads
  double peak_mb = 0;  // peak resident memory, in units of 1e6 bytes
};

// Returns the CPU seconds of this process so far.
double cpu_seconds();

// Work that returns the CPU seconds to count, so that preparation can be excluded.
using Work = std::function<core::Result<double>()>;

// Runs the work in a fork of this process, which must have one thread and little memory, because
// the fork starts with that memory.
core::Result<Usage> measure_work(const Work& work);

// Runs a program and discards its output. Fails unless it ends with exit code 0.
core::Result<Usage> measure_program(const std::vector<std::string>& command);

}  // namespace assay::bench
