#include "cli/allreduce_benchmarking.h"

#include <string>

#include "allreduce/bench/benchmark_summary.h"
#include "cli/output.h"
#include "cli/version.h"
#include "core/interrupt.h"
#include "core/terminal.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

// Ctrl-C ends the worker within a second; one that is stuck in the driver takes longer.
constexpr unsigned kSecondsToStop = 15;

}  // namespace

core::Result<fs::path> benchmark_worker(const fs::path& named) {
  auto worker = ASSAY_TRY(named_worker(named));
  if (worker.empty()) return allreduce::find_worker();
  return worker;
}

std::vector<allreduce::Strategy> measured_strategies() {
  std::vector<allreduce::Strategy> strategies;
  for (const allreduce::StrategySpec& spec : allreduce::kStrategies) {
    if (spec.strategy != allreduce::Strategy::kAuto) strategies.push_back(spec.strategy);
  }
  return strategies;
}

core::Result<allreduce::BenchmarkOptions> default_benchmark(const fs::path& folder) {
  allreduce::BenchmarkOptions options;
  options.folder = folder;
  options.strategies = measured_strategies();
  options.program = program_version();
  options.command_line = own_command_line();
  const int gpus = ASSAY_TRY(count_gpus());
  options.world_sizes = ASSAY_TRY(allreduce::default_world_sizes(gpus));
  options.worker = ASSAY_TRY(benchmark_worker(""));
  return options;
}

core::Result<allreduce::BenchmarkResult> benchmark_with_progress(
    const allreduce::BenchmarkOptions& options, Talk talk, allreduce::RankLeader* ranks) {
  core::allow_seconds_to_stop(kSecondsToStop);
  core::TerminalLine line(talk == Talk::kNever ? core::TerminalLine::Show::kNever
                                               : core::TerminalLine::Show::kOnTerminal);
  allreduce::BenchmarkHooks hooks;
  hooks.on_notice = [&](const std::string& text) {
    line.clear();
    print_warning(text);
  };
  hooks.on_progress = [&](const allreduce::BenchmarkStanding& standing) {
    if (line.shown()) line.draw(allreduce::progress_text(standing));
  };
  auto result = allreduce::run_benchmark(options, hooks, ranks);
  line.clear();
  return result;
}

}  // namespace assay::cli
