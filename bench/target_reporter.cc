#include "target_reporter.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

namespace assay::bench {
namespace {

double counter(const benchmark::BenchmarkReporter::Run& run, const char* name) {
  const auto found = run.counters.find(name);
  return found == run.counters.end() ? 0 : found->second.value;
}

std::string or_dash(double value, int decimals) {
  return value > 0 ? fmt::format("{:.{}f}", value, decimals) : "-";
}

std::string verdict(double target_cpu_s, double target_peak_mb, double cpu_s, double peak_mb) {
  if (target_cpu_s <= 0) return "";
  const bool met = cpu_s <= target_cpu_s && (target_peak_mb <= 0 || peak_mb <= target_peak_mb);
  return met ? "yes" : "NO";
}

}  // namespace

bool TargetReporter::ReportContext(const Context& context) {
  fmt::print(
      "{} processors; load {:.1f}. CPU seconds, user and system, of a process for each run; "
      "MB are 1e6 bytes.\nOthers on the machine add to CPU seconds: the smallest counts.\n\n",
      context.cpu_info.num_cpus,
      context.cpu_info.load_avg.empty() ? 0 : context.cpu_info.load_avg.front());
  fmt::print("{:<46} {:>7} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {}\n", "work", "min s", "median",
             "max", "MB/s", "peak MB", "to be s", "to be MB", "met");
  std::fflush(stdout);
  return true;
}

void TargetReporter::ReportRuns(const std::vector<Run>& runs) {
  std::vector<double> cpu_s;
  double peak_mb = 0;
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration || counter(run, kPeakMb) <= 0) continue;
    cpu_s.push_back(run.GetAdjustedRealTime());
    peak_mb = std::max(peak_mb, counter(run, kPeakMb));
  }
  if (cpu_s.empty()) return;  // failed, with the reason on stderr; or only aggregates
  std::sort(cpu_s.begin(), cpu_s.end());
  const Run& run = runs.front();
  const double target_cpu_s = counter(run, kTargetCpu);
  const double target_peak_mb = counter(run, kTargetPeak);
  fmt::print("{:<46} {:>7.3f} {:>7.3f} {:>7.3f} {:>7} {:>8.0f} {:>7} {:>8} {}\n",
             run.run_name.function_name, cpu_s.front(), cpu_s[cpu_s.size() / 2], cpu_s.back(),
             or_dash(counter(run, kInputMb) / cpu_s.front(), 0), peak_mb, or_dash(target_cpu_s, 2),
             or_dash(target_peak_mb, 0),
             verdict(target_cpu_s, target_peak_mb, cpu_s.front(), peak_mb));
  std::fflush(stdout);
}

}  // namespace assay::bench
