#include "allreduce/plot/choice.h"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "allreduce/benchmark_csv.h"
#include "core/files.h"

namespace assay::allreduce {
namespace {

std::optional<ChoiceDifference> difference_at(const Grid& grid,
                                              const DrawnChoice& first,
                                              const DrawnChoice& second,
                                              std::size_t row,
                                              std::size_t column) {
  const Cell cell = cell_of(grid, row, column);
  const auto one = first.strategy(cell, grid.launch);
  const auto other = second.strategy(cell, grid.launch);
  if (!one || !other || *one == *other) return std::nullopt;
  const Measurement* before = grid.timed(*one, row, column);
  const Measurement* after = grid.timed(*other, row, column);
  std::optional<double> cost;
  if (before != nullptr && after != nullptr) cost = (after->time_us / before->time_us - 1) * 100;
  return ChoiceDifference{cell, *one, *other, cost};
}

}  // namespace

Cell cell_of(const Grid& grid, std::size_t row, std::size_t column) {
  return {grid.world_size, grid.data_type, grid.fusion, grid.hidden_sizes[row],
          grid.token_counts[column]};
}

DrawnChoice always(Strategy strategy) {
  return {fmt::format("{} always", name_of(strategy)),
          [strategy](const Cell&, Launch) { return strategy; }};
}

core::Result<DrawnChoice> read_choice(const std::filesystem::path& path,
                                      std::optional<int> sm_version) {
  const std::string name =
      path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
  if (core::is_folder(path)) {
    const BenchmarkFolder folder = ASSAY_TRY(find_benchmarks(path, sm_version));
    return fastest_of(name, ASSAY_TRY(read_benchmarks(folder)));
  }
  const std::string json = ASSAY_TRY(core::read_file(path));
  return choice_of(name, ASSAY_TRY(table_from_json(json, path.string())));
}

DrawnChoice choice_of(std::string name, StrategyTable table) {
  return {std::move(name), [table = std::move(table)](const Cell& cell, Launch) {
            return table.lookup(cell.world_size, cell.fusion, cell.data_type, cell.hidden_size,
                                cell.num_tokens);
          }};
}

DrawnChoice fastest_of(std::string name, const Benchmark& benchmark) {
  using Place = std::pair<Cell, Launch>;
  std::map<std::pair<Place, Strategy>, std::pair<double, int>> sums;
  for (const Measurement& one : benchmark.measurements) {
    if (one.outcome != Outcome::kOk || one.strategy == Strategy::kAuto || !(one.time_us > 0)) {
      continue;
    }
    auto& [sum, count] = sums[{{one.cell, one.launch}, one.strategy}];
    sum += one.time_us;
    ++count;
  }
  std::map<Place, std::pair<double, Strategy>> fastest;
  for (const auto& [key, total] : sums) {
    const double mean = total.first / total.second;
    const auto found = fastest.find(key.first);
    if (found == fastest.end() || mean < found->second.first) {
      fastest.insert_or_assign(key.first, std::pair(mean, key.second));
    }
  }
  return {
      std::move(name),
      [fastest = std::move(fastest)](const Cell& cell, Launch launch) -> std::optional<Strategy> {
        const auto found = fastest.find({cell, launch});
        if (found == fastest.end()) return std::nullopt;
        return found->second.second;
      }};
}

std::optional<double> regret_percent(const Grid& grid,
                                     const DrawnChoice& choice,
                                     std::size_t row,
                                     std::size_t column) {
  const auto chosen = choice.strategy(cell_of(grid, row, column), grid.launch);
  if (!chosen) return std::nullopt;
  return grid.difference_percent(*chosen, row, column);
}

std::vector<ChoiceDifference> differences(const Grid& grid,
                                          const DrawnChoice& first,
                                          const DrawnChoice& second) {
  std::vector<ChoiceDifference> found;
  for (std::size_t row = 0; row < grid.hidden_sizes.size(); ++row) {
    for (std::size_t column = 0; column < grid.token_counts.size(); ++column) {
      const auto one = difference_at(grid, first, second, row, column);
      if (one) found.push_back(*one);
    }
  }
  return found;
}

}  // namespace assay::allreduce
