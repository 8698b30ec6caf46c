// Ways to choose a strategy, to be drawn beside the best.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/plot/grid.h"
#include "allreduce/strategy_table.h"

namespace assay::allreduce {

struct DrawnChoice {
  std::string name;  // for titles: "NCCL always"
  // Nothing where it does not choose.
  std::function<std::optional<Strategy>(const Cell&, Launch)> strategy;
};

// A table in JSON, or a folder of benchmarks, whose fastest strategy of each cell it then is.
// Named after the path. Errors: it cannot be read.
core::Result<DrawnChoice> read_choice(const std::filesystem::path& path,
                                      std::optional<int> sm_version);

DrawnChoice always(Strategy strategy);
DrawnChoice choice_of(std::string name, StrategyTable table);
// The fastest of each cell that another benchmark measured (the fastest mean where it measured a
// cell twice); never AUTO.
DrawnChoice fastest_of(std::string name, const Benchmark& benchmark);

// What a choice costs in a cell beside the best measured, percent; nothing where it does not
// choose or what it chose has no time there.
std::optional<double> regret_percent(const Grid& grid,
                                     const DrawnChoice& choice,
                                     std::size_t row,
                                     std::size_t column);

// A cell where two choices differ.
struct ChoiceDifference {
  Cell cell;
  Strategy first = Strategy::kNccl;
  Strategy second = Strategy::kNccl;
  // Of the second beside the first, by the grid's times: above 0 when it is slower. Nothing where
  // one of them has no time.
  std::optional<double> cost_percent;
};

std::vector<ChoiceDifference> differences(const Grid& grid,
                                          const DrawnChoice& first,
                                          const DrawnChoice& second);

Cell cell_of(const Grid& grid, std::size_t row, std::size_t column);

}  // namespace assay::allreduce
