// `assay allreduce bench`: measures the cells of a plan, one TP size after the other, and saves
// each cell to a benchmark file as soon as it is measured.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/bench/benchmark_file.h"
#include "allreduce/bench/launched_rank.h"
#include "allreduce/bench/plan.h"
#include "allreduce/timings.h"
#include "core/files.h"
#include "core/result.h"

namespace assay::allreduce {

struct BenchmarkOptions {
  std::vector<int> world_sizes;
  Shapes shapes = Shapes::kGrid;
  Axes axes = default_axes(Shapes::kGrid);
  CellFilter filter = {};
  std::vector<Launch> launches = {Launch::kGraph};
  std::vector<Strategy> strategies;

  std::filesystem::path folder;
  Existing existing = Existing::kRefuse;

  std::filesystem::path worker;                // path of assay-worker
  std::vector<int> gpus = {};                  // TP N uses the first N; empty for all GPUs
  std::filesystem::path table = {};            // the table for strategy AUTO; empty for none
  std::chrono::milliseconds deadline{30'000};  // for one cell
  double tie = 0.02;
  std::int64_t min_samples = 6;
  std::int64_t max_samples = 200;
  std::int64_t memory_limit_bytes = 0;  // per GPU; 0 for all its memory
  std::uint64_t seed = 1;

  // Recorded with the results: "assay 0.5.0" and the command line that was used.
  std::string program;
  std::string command_line;
};

struct BenchmarkStanding {
  std::string doing;      // "TP 8" or "TP 8, starting its worker"
  std::int64_t done = 0;  // cells, including those of an earlier run
  std::int64_t total = 0;
  std::int64_t failures = 0;  // measurements that ended as incorrect, error or hang
  double cells_per_second = 0;
  std::optional<double> left_seconds = {};
};

struct BenchmarkHooks {
  std::function<void(const std::string&)> on_notice;
  std::function<void(const BenchmarkStanding&)> on_progress;
};

// The outcomes of one file and fusion. `expected` and `outcomes` count measurements: one strategy
// in one cell.
struct BenchmarkCounts {
  int world_size = 2;
  Launch launch = Launch::kGraph;
  DataType data_type = DataType::kBfloat16;
  Fusion fusion = Fusion::kNone;
  std::int64_t cells = 0;
  std::int64_t expected = 0;
  std::array<std::int64_t, kOutcomeNames.size()> outcomes = {};

  [[nodiscard]] std::int64_t missing() const;
};

struct BenchmarkResult {
  std::vector<BenchmarkCounts> counts;
  std::vector<std::filesystem::path> files;
  double wall_seconds = 0;
  // The strategies that failed somewhere and have no time in any cell; all strategies when nothing
  // has a time.
  std::vector<Strategy> without_time;
};

// `ranks` is set when a launcher started several ranks. Errors: wrong axes, a folder in use, files
// that already exist or were measured with other settings (see benchmark_file.h), no worker,
// interrupted. Everything measured before the error is kept.
core::Result<BenchmarkResult> run_benchmark(const BenchmarkOptions& options,
                                            const BenchmarkHooks& hooks,
                                            RankLeader* ranks = nullptr);

// What is recorded with the results of one TP size.
Provenance benchmark_provenance(const BenchmarkOptions& options,
                                int world_size,
                                const WorkerHello& hello);

// Locks the folder against another run. Error: one is writing to it.
core::Result<core::FileLock> lock_benchmark_folder(const std::filesystem::path& folder);

// Returns how to start a worker with these options; the caller sets the world size and the rank.
WorkerLaunch worker_launch(const BenchmarkOptions& options);

}  // namespace assay::allreduce
