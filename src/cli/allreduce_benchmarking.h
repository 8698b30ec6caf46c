// What `allreduce bench` and `allreduce codegen` share: finding the GPUs and the worker, and a
// benchmark that tells on the terminal how far it is.
#pragma once

#include <filesystem>

#include "allreduce/bench/benchmark.h"
#include "core/result.h"

namespace assay::cli {

inline constexpr const char* kWorkerVariable = "ASSAY_WORKER";

// As this shell sees them.
core::Result<int> count_gpus();

// The program that measures: `named`, or by the environment, or beside assay.
core::Result<std::filesystem::path> benchmark_worker(const std::filesystem::path& named);

// All strategies but AUTO.
std::vector<allreduce::Strategy> measured_strategies();

// The whole grid of every TP size that this machine has GPUs for.
core::Result<allreduce::BenchmarkOptions> default_benchmark(const std::filesystem::path& folder);

// How this process was called, for the record.
std::string own_command_line();

enum class Talk { kOnTerminal, kNever };

core::Result<allreduce::BenchmarkResult> benchmark_with_progress(
    const allreduce::BenchmarkOptions& options, Talk talk, allreduce::RankLeader* ranks = nullptr);

}  // namespace assay::cli
