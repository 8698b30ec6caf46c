// `assay allreduce bench --nccl-sweep`: measures NCCL's collectives with each algorithm, protocol
// and number of channels, beside NCCL's own choice, and saves each call's times as soon as they are
// measured.
#pragma once

#include <filesystem>
#include <vector>

#include "allreduce/bench/benchmark.h"
#include "allreduce/bench/nccl_plan.h"
#include "allreduce/nccl_setting.h"
#include "core/result.h"
#include "model/table.h"

namespace assay::allreduce {

struct NcclSweepOptions {
  // Of these, fusions, shapes of messages, strategies and --table have no meaning here.
  BenchmarkOptions common;
  NcclAxes axes;
  std::filesystem::path plugin;  // libassay_nccl_tuner.so
};

struct NcclSweepResult {
  std::vector<NcclMeasurement> measurements;
  std::vector<std::filesystem::path> files;
  double wall_seconds = 0;
};

// Errors: as run_benchmark(). The folder of the results is created.
core::Result<NcclSweepResult> run_nccl_sweep(const NcclSweepOptions& options,
                                             const BenchmarkHooks& hooks);

model::Book nccl_plan_summary(const NcclSweepOptions& options);

// It tells for each number of ranks, launch and collective how many calls have a setting that beats
// NCCL's own choice, and by how much.
model::Book nccl_sweep_summary(const NcclSweepResult& result, double tie);

// Finds libassay_nccl_tuner.so beside the running program or in lib/ of an installation.
core::Result<std::filesystem::path> find_nccl_tuner();

}  // namespace assay::allreduce
