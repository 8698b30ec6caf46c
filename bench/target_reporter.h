// One line a benchmark: what it took, what it may take.
#pragma once

#include <benchmark/benchmark.h>

namespace assay::bench {

// Names of the counters that a benchmark sets beside its time.
inline constexpr const char* kPeakMb = "peak_MB";
inline constexpr const char* kInputMb = "input_MB";
inline constexpr const char* kTargetCpu = "target_CPU_s";
inline constexpr const char* kTargetPeak = "target_peak_MB";

class TargetReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override;
  // All repetitions of one benchmark, and Google Benchmark's own aggregates of them.
  void ReportRuns(const std::vector<Run>& runs) override;
};

}  // namespace assay::bench
