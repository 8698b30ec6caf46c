// What was achieved, against what had to be done and what the GPU can do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/table.h"
#include "trace/analysis.h"
#include "trace/perf/operator_family.h"

namespace assay::trace {

// The user's architecture, else the one that the trace's GPU means. None for unknown GPUs and,
// unless the user gave one, in compat mode: the public tool knows none by itself.
std::optional<GpuArchitecture> architecture_of(const RankAnalysis& rank);

// The shortest time that the GPU could take, and what bounds it.
struct Roofline {
  double time_us = 0;
  const char* bound = "";  // "COMPUTE_BOUND" or "MEMORY_BOUND"
};

// None when the bytes or the peak are unknown or nothing is computed.
std::optional<Roofline> roofline(const Work& work,
                                 const std::string& compute_spec,
                                 const GpuArchitecture& architecture);

// Mean, median, sample deviation, minimum and maximum of the values that are numbers.
struct Spread {
  double mean, median, deviation, minimum, maximum;
};

Spread spread_of(const std::vector<double>& values);

// A group of like calls.
struct Achieved {
  std::optional<Work> work = std::nullopt;  // of the first call
  std::string compute_spec = {};
  std::optional<Roofline> roofline = std::nullopt;
  std::vector<double> kernel_us = {};
  std::vector<double> terabytes_per_s = {};  // these are NaN for calls without work or time
  std::vector<double> teraflops_per_s = {};
  std::vector<double> percent_of_roofline = {};

  // `work` is null for calls without a model.
  void add(double call_us,
           const Work* call_work,
           const std::string& spec,
           const std::optional<GpuArchitecture>& architecture);
};

// Cells of the first call's work; empty where unknown.
model::Cell gflops_cell(const Achieved& achieved);
model::Cell megabytes_cell(const Achieved& achieved);  // 2^20 bytes
model::Cell intensity_cell(const Achieved& achieved);  // operations a byte

// The text, or an empty cell.
model::Cell text_cell(std::string_view text);

}  // namespace assay::trace
