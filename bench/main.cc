// Prints the measured figures of assay's commands beside their targets. Arguments go to Google
// Benchmark:
//
//   assay_bench --benchmark_filter='reading 1 GB' --benchmark_repetitions=5
//   assay_bench --benchmark_out=figures.json
//
// --benchmark_out writes the figures as JSON. With ASSAY_BENCH_LARGE in the environment, a schedule
// of 10^8 operations (4.5 GB) is made as well.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <csignal>
#include <string>
#include <vector>

#include "cases.h"
#include "target_reporter.h"

namespace assay::bench {
namespace {

// Set by Ctrl-C or SIGTERM: the current run ends, the others are skipped, and the inputs, which
// take several GB, are removed.
volatile std::sig_atomic_t stop_asked = 0;

void ask_to_stop(int) {
  stop_asked = 1;
}

void run_case(benchmark::State& state, const Case& measured, Inputs& inputs, bool& failed) {
  for ([[maybe_unused]] const auto& iteration : state) {
    const core::Result<Usage> usage =
        stop_asked != 0 ? core::Result<Usage>(core::Error{"stopped"}) : measured.measure(inputs);
    if (!usage.ok()) {
      failed = true;
      fmt::print(stderr, "{}: {}\n", measured.name, usage.error().message);
      state.SkipWithError(usage.error().message.c_str());
      return;
    }
    state.SetIterationTime(usage.value().cpu_s);
    state.counters[kPeakMb] = usage.value().peak_mb;
  }
  if (measured.input_mb > 0) state.counters[kInputMb] = measured.input_mb;
  if (!measured.target) return;
  state.counters[kTargetCpu] = measured.target->cpu_s;
  if (measured.target->peak_mb) state.counters[kTargetPeak] = *measured.target->peak_mb;
}

int run(std::vector<char*> arguments) {
  // Comes before the user's arguments, which take precedence.
  std::string repetitions = "--benchmark_repetitions=3";
  arguments.insert(arguments.begin() + 1, repetitions.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  Inputs inputs;
  bool failed = false;
  std::vector<Case> cases = command_cases();
  for (auto* more : {part_cases, goal_cases, simulate_cases, query_cases, schedule_cases}) {
    for (Case& part : more())
      cases.push_back(std::move(part));
  }
  for (const Case& measured : cases) {
    benchmark::RegisterBenchmark(
        measured.name.c_str(),
        [&](benchmark::State& state) { run_case(state, measured, inputs, failed); })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kSecond);
  }
  TargetReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  return assay::bench::run({argv, argv + argc});
}
