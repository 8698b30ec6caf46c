#include "cli/allreduce_benchmarking.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "allreduce/bench/benchmark_summary.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/version.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/terminal_line.h"
#include "gpu/devices.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

// Ctrl-C ends the worker within a second; one that is stuck in the driver takes longer.
constexpr unsigned kSecondsToStop = 15;

}  // namespace

core::Result<int> count_gpus() {
  const auto machine =
      gpu::nvidia_reader("libnvidia-ml.so.1")->read(gpu::DeviceReader::Detail::kState);
  if (!machine.ok()) return machine.error();
  const auto present = static_cast<int>(machine.value().devices.size());
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return present;
  const bool none = *visible == '\0' || *visible == '-';
  return none ? 0 : std::min(present, static_cast<int>(split(visible, ',').size()));
}

core::Result<fs::path> benchmark_worker(const fs::path& named) {
  const char* variable = std::getenv(kWorkerVariable);
  const fs::path path = !named.empty() ? named : fs::path(variable == nullptr ? "" : variable);
  if (path.empty()) return allreduce::find_worker();
  if (core::is_regular_file(path)) return fs::absolute(path);
  return core::Error{fmt::format("no worker: '{}' is not a file", path.string())};
}

std::vector<allreduce::Strategy> measured_strategies() {
  std::vector<allreduce::Strategy> strategies;
  for (const allreduce::StrategySpec& spec : allreduce::kStrategies) {
    if (spec.strategy != allreduce::Strategy::kAuto) strategies.push_back(spec.strategy);
  }
  return strategies;
}

std::string own_command_line() {
  auto words = core::read_file("/proc/self/cmdline");
  if (!words.ok()) return "";
  std::string line = std::move(words).value();
  while (!line.empty() && line.back() == '\0')
    line.pop_back();
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
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
