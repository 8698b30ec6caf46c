// The data that the figures of one fusion show: the time of each strategy at each hidden size and
// token count.
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
  std::vector<std::int64_t> hidden_sizes;  // descending, from the top row
  std::vector<std::int64_t> token_counts;  // ascending, from the left column
  std::vector<Measurement> measurements;   // one for each strategy and cell that was tried

  // nullptr where the strategy was not tried or, for timed(), has no time.
  [[nodiscard]] const Measurement* tried(Strategy strategy,
                                         std::size_t row,
                                         std::size_t column) const;
  [[nodiscard]] const Measurement* timed(Strategy strategy,
                                         std::size_t row,
                                         std::size_t column) const;

  // The fastest strategy except AUTO, and the second fastest; equally fast ones are in the order of
  // kStrategies. nullptr where there is none. The fastest may be limited to some strategies.
  [[nodiscard]] const Measurement* best(std::size_t row,
                                        std::size_t column,
                                        const std::vector<Strategy>& arms = {}) const;
  [[nodiscard]] const Measurement* runner_up(std::size_t row, std::size_t column) const;

  // Returns how much slower the strategy is than the best (of some strategies), in percent; AUTO
  // may be below 0. std::nullopt where either has no time.
  [[nodiscard]] std::optional<double> difference_percent(
      Strategy strategy,
      std::size_t row,
      std::size_t column,
      const std::vector<Strategy>& arms = {}) const;

  // For example "TP 4, SM 90, bfloat16, CUDA graph"; without the SM where it is 0, which is
  // unknown.
  [[nodiscard]] std::string subject() const;

  // The index in `measurements` for each place(); -1 where nothing was measured.
  std::vector<std::ptrdiff_t> positions;

  [[nodiscard]] std::size_t place(Strategy strategy, std::size_t row, std::size_t column) const;
};

// Combines several measurements of one strategy and cell into their mean, with the widest interval.
// Errors: no timed measurement of this fusion; several TP sizes, data types or ways to launch.
core::Result<Grid> grid_of(const Benchmark& benchmark, Fusion fusion);

// Returns the fusions that have times, in the order of the enum.
std::vector<Fusion> fusions_of(const Benchmark& benchmark);

}  // namespace assay::allreduce
