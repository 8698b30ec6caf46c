// What the user asked of an analysis of traces.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace assay::trace {

// kTraceLens reproduces the public tool's figures, its defects included (docs/compatibility.md).
enum class Compat { kNone, kTraceLens };

// Peaks of one GPU, for the roofline: those of model/gpu_specs.h or of a user's file.
struct GpuArchitecture {
  std::string name;
  double memory_gbps = 0;                          // 1e9 bytes a second
  std::map<std::string, double> peak_tflops = {};  // "matrix_bf16" → 1e12 operations a second
};

struct Options {
  Compat compat = Compat::kNone;
  // Compat only: count kernels that no recorded call launched, as aorta asks of TraceLens.
  bool include_unlinked = false;
  double short_kernel_us = 10;
  int short_kernel_bins = 100;
  // Overrides what the trace says of its GPU.
  std::optional<GpuArchitecture> architecture = std::nullopt;
};

}  // namespace assay::trace
