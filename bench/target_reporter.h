// Prints one line per benchmark: the measured figures and their targets.
#pragma once

#include <benchmark/benchmark.h>

namespace assay::bench {

// The names of the counters that a benchmark sets besides its time.
inline constexpr const char* kPeakMb = "peak_MB";
inline constexpr const char* kInputMb = "input_MB";
inline constexpr const char* kTargetCpu = "target_CPU_s";
inline constexpr const char* kTargetPeak = "target_peak_MB";

class TargetReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override;
  // Gets all repetitions of one benchmark, and Google Benchmark's own aggregates of them.
  void ReportRuns(const std::vector<Run>& runs) override;
};

}  // namespace assay::bench
