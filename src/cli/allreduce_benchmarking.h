// What `allreduce bench` and `allreduce codegen` share: finding the worker, and a benchmark that
// tells on the terminal how far it is.
#pragma once

#include <filesystem>

#include "allreduce/bench/benchmark.h"
#include "cli/workers.h"
#include "core/result.h"

namespace assay::cli {

// The program that measures: `named`, or by the environment, or beside assay.
core::Result<std::filesystem::path> benchmark_worker(const std::filesystem::path& named);

// All strategies but AUTO.
std::vector<allreduce::Strategy> measured_strategies();

// The whole grid of every TP size that this machine has GPUs for.
core::Result<allreduce::BenchmarkOptions> default_benchmark(const std::filesystem::path& folder);

enum class Talk { kOnTerminal, kNever };

core::Result<allreduce::BenchmarkResult> benchmark_with_progress(
    const allreduce::BenchmarkOptions& options, Talk talk, allreduce::RankLeader* ranks = nullptr);

}  // namespace assay::cli
