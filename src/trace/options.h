// The user's options for an analysis of traces.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace assay::trace {

// The folder in a configuration where the reports go unless they are sent elsewhere.
inline constexpr const char* kAnalysisFolder = "tracelens_analysis";

// kTraceLens reproduces the public tool's figures including its defects (docs/compatibility.md).
enum class Compat { kNone, kTraceLens };

// The peaks of one GPU for the roofline: those of model/gpu_specs.h or of a user's file.
struct GpuArchitecture {
  std::string name;
  double memory_gbps = 0;                          // 1e9 bytes per second
  std::map<std::string, double> peak_tflops = {};  // "matrix_bf16" → 1e12 operations a second
};

struct Options {
  Compat compat = Compat::kNone;
  // Also counts kernels that no recorded call launched, as aorta makes TraceLens do. Only in compat
  // mode.
  bool include_unlinked = false;
  bool detect_recompute = false;  // tells the work that backward does again; not in compat mode
  bool call_stacks = false;       // reads and shows them; not in compat mode
  double short_kernel_us = 10;
  int short_kernel_bins = 100;
  // Replaces the architecture of the GPU that the trace names.
  std::optional<GpuArchitecture> architecture = std::nullopt;
};

}  // namespace assay::trace
