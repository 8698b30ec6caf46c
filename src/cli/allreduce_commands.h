// The parts that the commands of `assay allreduce` share: the choices of their options, the
// benchmark that shows its progress on the terminal, and the tables that are made from a benchmark.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/bench/benchmark.h"
#include "allreduce/bench/nccl_sweep.h"
#include "allreduce/lookup.h"
#include "allreduce/tuning.h"
#include "cli/options.h"
#include "core/result.h"

namespace assay::cli {

Choices<allreduce::Fusion> fusion_choices();
Choices<allreduce::DataType> data_type_choices();
Choices<allreduce::Launch> launch_choices();
Choices<allreduce::NcclCollective> nccl_collective_choices();

Choices<allreduce::Strategy> strategy_choices(const std::vector<allreduce::Strategy>& strategies);

// The largest size of a message that can be asked for, of those that a table can have: the product
// of all fits into 64 bits.
inline constexpr std::int64_t kMostMessageSize = std::int64_t{1} << 28;

// Declares TP, HIDDEN and TOKENS.
void add_message_sizes(App& app, allreduce::Cell& message);

// Fails where there is no such folder, and says how to get one.
core::Status check_benchmark_folder(const std::filesystem::path& folder);

// Returns the program that measures: `named`, else the one that the environment names, else the one
// beside assay.
core::Result<std::filesystem::path> benchmark_worker(const std::filesystem::path& named);

// Returns the options for the whole grid of every TP size that this machine has GPUs for.
core::Result<allreduce::BenchmarkOptions> default_benchmark(const std::filesystem::path& folder);

enum class Talk { kOnTerminal, kNever };

core::Result<allreduce::BenchmarkResult> benchmark_with_progress(
    const allreduce::BenchmarkOptions& options, Talk talk, allreduce::RankLeader* ranks = nullptr);

core::Result<allreduce::NcclSweepResult> nccl_sweep_with_progress(
    const allreduce::NcclSweepOptions& options, Talk talk);

// The place of a benchmark, and the options for choosing strategies from it.
struct TuningArguments {
  std::filesystem::path data_folder;
  std::optional<int> sm_version = {};
  allreduce::TuningOptions tuning = {};
  std::optional<allreduce::Strategy> fallback = {};  // where --fallback names one
};

// Declares the folder by these names, --sm_version, --dtype, --launch, --strategies, --tie,
// --noise,
// --fallback and the thresholds. Returns the option of the folder.
Option* add_tuning_options(App& app, TuningArguments& arguments, const char* folder_names);

struct TunedBenchmark {
  allreduce::Benchmark benchmark;
  allreduce::TunedTables tables;  // the provenance names the files
  std::vector<std::filesystem::path> files;
};

core::Result<TunedBenchmark> load_tuned(const std::filesystem::path& folder,
                                        const TuningArguments& arguments);

// Takes the words of add_tuning_options() besides the folder: {"--launch", "eager"}.
core::Result<TuningArguments> tuning_arguments(const std::filesystem::path& folder,
                                               const std::vector<std::string>& options);

// Opens what lookups are asked of: a folder of benchmark files, of which a table is made, or the
// JSON of a table.
core::Result<allreduce::StrategySource> open_strategies(const TuningArguments& arguments);

}  // namespace assay::cli
