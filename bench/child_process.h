// Work in a process of its own, so that its CPU time and its peak memory are its own too.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay::bench {

struct Usage {
  double cpu_s = 0;    // user and system, of all threads
  double peak_mb = 0;  // resident; 1e6 bytes
};

// CPU seconds of this process so far.
double cpu_seconds();

// Work that says how many CPU seconds of it count: preparation may not.
using Work = std::function<core::Result<double>()>;

// In a fork of this process, which must have one thread and little memory: the fork starts with
// that memory.
core::Result<Usage> measure_work(const Work& work);

// A program, its output thrown away. An error unless it ends with exit code 0.
core::Result<Usage> measure_program(const std::vector<std::string>& command);

}  // namespace assay::bench
