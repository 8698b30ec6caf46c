#include "allreduce/plot/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "allreduce/plot/drawings.h"
#include "core/statistics.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

std::vector<model::Cell> subject_cells(const Grid& grid) {
  return {std::int64_t{grid.world_size}, std::string(name_of(grid.data_type)),
          std::string(name_of(grid.launch)), std::string(name_of(grid.fusion))};
}

std::vector<model::Column> subject_columns() {
  return {{.name = "TP"}, {.name = "dtype"}, {.name = "launch"}, {.name = "fusion"}};
}

template <class Body>
void each_grid(const std::vector<Source>& sources, const Body& body) {
  for (const Source& source : sources) {
    for (const Grid& grid : source.grids)
      body(source, grid);
  }
}

std::vector<double> times_of(const Grid& grid) {
  std::vector<double> times;
  for (const Measurement& one : grid.measurements) {
    if (one.outcome == Outcome::kOk && one.time_us > 0) times.push_back(one.time_us);
  }
  return times;
}

std::vector<double> differences_of(const Grid& grid, Strategy strategy) {
  std::vector<double> found;
  for (std::size_t row = 0; row < grid.hidden_sizes.size(); ++row) {
    for (std::size_t column = 0; column < grid.token_counts.size(); ++column) {
      const auto percent = grid.difference_percent(strategy, row, column);
      if (percent) found.push_back(*percent);
    }
  }
  return found;
}

void add_strategy_rows(model::Table& table, const Grid& grid) {
  const std::vector<Share> shares = shares_of(grid);
  for (const Strategy strategy : grid.strategies) {
    const std::vector<double> percent = differences_of(grid, strategy);
    std::vector<model::Cell> row = subject_cells(grid);
    row.emplace_back(std::string(name_of(strategy)));
    row.emplace_back(static_cast<std::int64_t>(percent.size()));
    const auto share = std::find_if(shares.begin(), shares.end(),
                                    [&](const Share& one) { return one.strategy == strategy; });
    if (share == shares.end()) {
      row.insert(row.end(), {model::Cell(), model::Cell()});
    } else {
      row.insert(row.end(), {static_cast<std::int64_t>(share->cells), share->percent});
    }
    row.push_back(model::cell_of(core::mean(percent)));
    row.push_back(model::cell_of(core::maximum(percent)));
    table.add_row(std::move(row));
  }
}

}  // namespace

model::Table benchmarks_table(const std::vector<Source>& sources) {
  model::Table table{
      .name = "benchmarks", .title = "What was measured", .columns = subject_columns()};
  table.columns.insert(table.columns.end(), {{.name = "strategies"},
                                             {.name = "tokens"},
                                             {.name = "hidden sizes"},
                                             {.name = "points"},
                                             {.name = "min", .unit = "us"},
                                             {.name = "max", .unit = "us"}});
  each_grid(sources, [&](const Source& /*source*/, const Grid& grid) {
    const std::vector<double> times = times_of(grid);
    std::vector<model::Cell> row = subject_cells(grid);
    row.insert(row.end(), {static_cast<std::int64_t>(grid.strategies.size()),
                           static_cast<std::int64_t>(grid.token_counts.size()),
                           static_cast<std::int64_t>(grid.hidden_sizes.size()),
                           static_cast<std::int64_t>(times.size()), core::minimum(times),
                           core::maximum(times)});
    table.add_row(std::move(row));
  });
  return table;
}

model::Table strategies_table(const std::vector<Source>& sources) {
  model::Table table{.name = "strategies",
                     .title =
                         "Where each strategy is the fastest, and how much slower than the "
                         "fastest it is elsewhere",
                     .columns = subject_columns()};
  table.columns.insert(table.columns.end(), {{.name = "strategy"},
                                             {.name = "cells"},
                                             {.name = "best in"},
                                             {.name = "share", .unit = "%"},
                                             {.name = "average", .unit = "%"},
                                             {.name = "worst", .unit = "%"}});
  each_grid(sources,
            [&](const Source& /*source*/, const Grid& grid) { add_strategy_rows(table, grid); });
  return table;
}

model::Table differences_table(const std::vector<Source>& sources,
                               const DrawnChoice& first,
                               const DrawnChoice& second) {
  model::Table table{.name = "difference",
                     .title = "Where " + second.name + " chooses differently from " + first.name +
                              ", and what that costs",
                     .columns = subject_columns()};
  table.columns.insert(table.columns.end(), {{.name = "hidden_size"},
                                             {.name = "num_tokens"},
                                             {.name = "first"},
                                             {.name = "second"},
                                             {.name = "cost", .unit = "%"}});
  each_grid(sources, [&](const Source& /*source*/, const Grid& grid) {
    std::vector<ChoiceDifference> found = differences(grid, first, second);
    std::stable_sort(found.begin(), found.end(),
                     [](const ChoiceDifference& a, const ChoiceDifference& b) {
                       constexpr double kLast = -std::numeric_limits<double>::infinity();
                       return a.cost_percent.value_or(kLast) > b.cost_percent.value_or(kLast);
                     });
    for (const ChoiceDifference& one : found) {
      std::vector<model::Cell> row = subject_cells(grid);
      row.insert(row.end(), {one.cell.hidden_size, one.cell.num_tokens,
                             std::string(name_of(one.first)), std::string(name_of(one.second)),
                             model::cell_of(one.cost_percent.value_or(kUnknown))});
      table.add_row(std::move(row));
    }
  });
  return table;
}

void warn_of_single_strategies(const std::vector<Source>& sources, model::Warnings& warnings) {
  each_grid(sources, [&](const Source& source, const Grid& grid) {
    if (grid.strategies.size() > 1) return;
    warnings.add("only one strategy measured", "it is the best everywhere",
                 source.name + ", " + std::string(name_of(grid.fusion)));
  });
}

}  // namespace assay::allreduce
