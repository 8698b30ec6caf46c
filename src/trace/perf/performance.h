// The rates that calls achieved, compared with their work and with the peaks of the GPU.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/table.h"
#include "trace/analysis.h"
#include "trace/perf/operator_family.h"

namespace assay::trace {

// Returns the user's architecture, else that of the GPU that the trace names. std::nullopt: the GPU
// is unknown, or the user gave no architecture in compat mode, since the public tool knows none.
std::optional<GpuArchitecture> architecture_of(const RankAnalysis& rank);

// The shortest time in which the GPU could do the work, and what bounds it.
struct Roofline {
  double time_us = 0;
  const char* bound = "";  // "COMPUTE_BOUND" or "MEMORY_BOUND"
};

// std::nullopt: the bytes or the peak rate are unknown, or nothing is computed.
std::optional<Roofline> roofline(const Work& work,
                                 const std::string& compute_spec,
                                 const GpuArchitecture& architecture);

// Mean, median, sample deviation, minimum and maximum of the values that are not NaN.
struct Spread {
  double mean, median, deviation, minimum, maximum;
};

Spread spread_of(const std::vector<double>& values);

// The figures that a group of similar calls achieved.
struct Achieved {
  std::optional<Work> work = std::nullopt;  // of the first call
  std::string compute_spec = {};
  std::optional<Roofline> roofline = std::nullopt;
  std::vector<double> kernel_us = {};
  std::vector<double> terabytes_per_s = {};  // from here on NaN for calls without work or time
  std::vector<double> teraflops_per_s = {};
  std::vector<double> percent_of_roofline = {};

  // `call_work` is null for calls without a model.
  void add(double call_us,
           const Work* call_work,
           const std::string& spec,
           const std::optional<GpuArchitecture>& architecture);
};

// Return cells with the work of the first call, empty where that is unknown.
model::Cell gflops_cell(const Achieved& achieved);
model::Cell megabytes_cell(const Achieved& achieved);  // 2^20 bytes
model::Cell intensity_cell(const Achieved& achieved);  // operations per byte

}  // namespace assay::trace
