// Ways to choose a strategy, drawn in comparison with the fastest one.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/plot/grid.h"
#include "allreduce/strategy_table.h"

namespace assay::allreduce {

struct LookupTable;

struct Chooser {
  std::string name;  // for titles: "NCCL always"
  // std::nullopt where it makes no choice.
  std::function<std::optional<Strategy>(const Cell&, Launch)> strategy;
  // The strategies that it knows; empty for all. It is compared with the fastest of these, because
  // a table cannot choose a strategy that it does not know.
  std::vector<Strategy> arms = {};
};

// Reads a table in JSON or C++ (.cpp or .h, looked up as TensorRT-LLM does), one of TensorRT-LLM's
// own tables ("shipped 1.2" or "shipped 1.3"), or a folder of benchmarks, of which it chooses the
// fastest strategy of each cell. Error: the path cannot be read.
core::Result<Chooser> read_chooser(const std::filesystem::path& path,
                                   const std::string& name,
                                   std::optional<int> sm_version);

// Returns the last part of each path, or as many of its last parts as tell it from the others.
std::vector<std::string> names_of(const std::vector<std::filesystem::path>& paths);

Chooser always(Strategy strategy);
Chooser chooser_of(std::string name, StrategyTable table);
// It knows the strategies that TensorRT-LLM's tables have held from the start, and those that the
// table names.
Chooser chooser_of(std::string name, LookupTable table);
// Chooses the fastest strategy of each cell that another benchmark measured, by the mean where a
// cell was measured more than once; never AUTO.
Chooser fastest_of(std::string name, const Benchmark& benchmark);

// Returns how much slower a choice is than the fastest measured strategy of a cell that it knows,
// in percent; std::nullopt where it makes no choice or its choice has no time.
std::optional<double> regret_percent(const Grid& grid,
                                     const Chooser& choice,
                                     std::size_t row,
                                     std::size_t column);

// Returns what the choices that do not know all strategies are compared with, a line for each set:
// "shipped 1.2 and shipped 1.3 beside the fastest of ONESHOT, TWOSHOT and NCCL alone".
std::vector<std::string> texts_of_arms(const std::vector<Chooser>& choices);

// A cell where two choices differ.
struct TableDifference {
  Cell cell;
  Strategy first = Strategy::kNccl;
  Strategy second = Strategy::kNccl;
  // The cost of the second choice relative to the first, by the times of the grid; above 0 when the
  // second is slower. std::nullopt where one of them has no time.
  std::optional<double> cost_percent;
};

std::vector<TableDifference> differences(const Grid& grid,
                                         const Chooser& first,
                                         const Chooser& second);

Cell cell_of(const Grid& grid, std::size_t row, std::size_t column);

}  // namespace assay::allreduce
