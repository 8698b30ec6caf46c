// What the figures of one fusion show: each strategy's time at each hidden size and token count.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/timings.h"
#include "core/result.h"

namespace assay::allreduce {

struct Grid {
  int sm_version = 0;
  int world_size = 0;
  DataType data_type = DataType::kBfloat16;
  Launch launch = Launch::kGraph;
  Fusion fusion = Fusion::kNone;
  std::vector<Strategy> strategies;        // in the order of kStrategies
  std::vector<std::int64_t> hidden_sizes;  // descending: rows from the top
  std::vector<std::int64_t> token_counts;  // ascending: columns from the left
  std::vector<Measurement> measurements;   // one a strategy and cell that was tried

  // Nothing where the strategy was not tried, or not timed.
  [[nodiscard]] const Measurement* tried(Strategy strategy,
                                         std::size_t row,
                                         std::size_t column) const;
  [[nodiscard]] const Measurement* timed(Strategy strategy,
                                         std::size_t row,
                                         std::size_t column) const;

  // The fastest strategy but AUTO, and the next one; of two equally fast the first of kStrategies.
  [[nodiscard]] const Measurement* best(std::size_t row, std::size_t column) const;
  [[nodiscard]] const Measurement* runner_up(std::size_t row, std::size_t column) const;

  // How much slower than the best, percent; AUTO may be below 0. Nothing without either time.
  [[nodiscard]] std::optional<double> difference_percent(Strategy strategy,
                                                         std::size_t row,
                                                         std::size_t column) const;

  // "TP 4, SM 90, bfloat16, CUDA graph"
  [[nodiscard]] std::string subject() const;

  // Where each strategy and cell is among the measurements; -1: it was not measured.
  std::vector<std::ptrdiff_t> positions;

  [[nodiscard]] std::size_t place(Strategy strategy, std::size_t row, std::size_t column) const;
};

// Several measurements of one strategy and cell become their mean, with the widest interval.
// Errors: no timed measurement of this fusion; several TPs, data types or ways to launch.
core::Result<Grid> grid_of(const Benchmark& benchmark, Fusion fusion);

// Fusions that were measured, in their order.
std::vector<Fusion> fusions_of(const Benchmark& benchmark);

}  // namespace assay::allreduce
