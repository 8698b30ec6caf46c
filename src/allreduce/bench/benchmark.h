// `assay allreduce bench`: measures the cells of a plan, TP size after TP size, and keeps each in a
// benchmark file as soon as it is measured.
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

  std::filesystem::path worker;                // the program
  std::vector<int> gpus = {};                  // TP N takes the first N of them; empty: of all
  std::filesystem::path table = {};            // for strategy AUTO
  std::chrono::milliseconds deadline{30'000};  // of a cell
  double tie = 0.02;
  std::int64_t min_samples = 5;
  std::int64_t max_samples = 200;
  std::int64_t memory_limit_bytes = 0;  // of a GPU; 0: all there is
  std::uint64_t seed = 1;

  // For the record: "assay 0.5.0" and how it was called.
  std::string program;
  std::string command_line;
};

struct BenchmarkStanding {
  std::string doing;      // "TP 8" or "TP 8, starting its worker"
  std::int64_t done = 0;  // cells, those of an earlier run among them
  std::int64_t total = 0;
  std::int64_t failures = 0;  // strategies in cells: incorrect, error, hang
  double cells_per_second = 0;
  std::optional<double> left_seconds = {};
};

struct BenchmarkHooks {
  std::function<void(const std::string&)> on_notice;
  std::function<void(const BenchmarkStanding&)> on_progress;
};

// What became of the cells of one file and fusion; counts are of strategies in cells.
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
  // Strategies without a single time though something other than "unsupported" became of them;
  // all of them when nothing at all has a time.
  std::vector<Strategy> without_time;
};

// `ranks` when several ranks of a launcher take part. Errors: wrong axes, a folder in use, files
// that are there already or measured otherwise (see benchmark_file.h), no worker, interrupted. What
// was measured until then is kept.
core::Result<BenchmarkResult> run_benchmark(const BenchmarkOptions& options,
                                            const BenchmarkHooks& hooks,
                                            RankLeader* ranks = nullptr);

// How the options have workers started; `world_size` and rank are left to the caller.
WorkerLaunch worker_launch(const BenchmarkOptions& options);

}  // namespace assay::allreduce
