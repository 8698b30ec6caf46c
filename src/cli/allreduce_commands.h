// What the commands of `assay allreduce` share: the choices of their options, the benchmark that
// tells on the terminal how far it is, and the tables made of a benchmark.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "allreduce/bench/benchmark.h"
#include "allreduce/tuning.h"
#include "cli/options.h"
#include "core/result.h"

namespace assay::cli {

Choices<allreduce::Fusion> fusion_choices();
Choices<allreduce::DataType> data_type_choices();

Choices<allreduce::Strategy> strategy_choices(const std::vector<allreduce::Strategy>& strategies);

// All strategies but AUTO.
std::vector<allreduce::Strategy> measured_strategies();

// The program that measures: `named`, or the one that the environment names, or the one beside
// assay.
core::Result<std::filesystem::path> benchmark_worker(const std::filesystem::path& named);

// The whole grid of every TP size that this machine has GPUs for.
core::Result<allreduce::BenchmarkOptions> default_benchmark(const std::filesystem::path& folder);

enum class Talk { kOnTerminal, kNever };

core::Result<allreduce::BenchmarkResult> benchmark_with_progress(
    const allreduce::BenchmarkOptions& options, Talk talk, allreduce::RankLeader* ranks = nullptr);

// Where a benchmark is, and how strategies are chosen from it.
struct TuningArguments {
  std::filesystem::path data_folder;
  std::optional<int> sm_version;
  allreduce::TuningOptions tuning;
};

// Declares --data_dir, --sm_version, --dtype, --launch, --strategies, --tie, --noise and
// --fallback. Returns the option of the folder.
Option* add_tuning_options(App& app, TuningArguments& arguments);

struct TunedBenchmark {
  allreduce::Benchmark benchmark;
  allreduce::TunedTables tables;  // its provenance names the files
};

core::Result<TunedBenchmark> load_tuned(const std::filesystem::path& folder,
                                        const TuningArguments& arguments);

}  // namespace assay::cli
