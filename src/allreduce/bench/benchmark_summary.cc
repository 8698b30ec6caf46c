#include "allreduce/bench/benchmark_summary.h"

#include <fmt/core.h>

#include <set>

#include "core/counted.h"
#include "core/terminal.h"

namespace assay::allreduce {
namespace {

constexpr double kSecondsPerCell = 0.08;  // so that the whole grid takes a minute

std::string text_of(std::string_view text) {
  return std::string(text);
}

void replace(std::string& text, std::string_view what, std::string_view with) {
  const std::size_t place = text.find(what);
  if (place != std::string::npos) text.replace(place, what.size(), with);
}

}  // namespace

model::Book plan_summary(const BenchmarkOptions& options) {
  model::Table table{.name = "plan",
                     .title = "What would be measured",
                     .columns = {{.name = "TP"},
                                 {.name = "launch"},
                                 {.name = "dtype"},
                                 {.name = "fusion"},
                                 {.name = "hidden sizes"},
                                 {.name = "token counts"},
                                 {.name = "cells"},
                                 {.name = "strategies"},
                                 {.name = "measurements"}}};
  std::int64_t total = 0;
  const auto strategies = static_cast<std::int64_t>(options.strategies.size());
  for (const int world_size : options.world_sizes) {
    const std::vector<Cell> cells = plan_cells(world_size, options.axes, options.filter);
    for (const Launch launch : options.launches) {
      for (const DataType type : options.axes.data_types) {
        for (const Fusion fusion : options.axes.fusions) {
          std::set<std::int64_t> hidden_sizes;
          std::set<std::int64_t> num_tokens;
          std::int64_t count = 0;
          for (const Cell& cell : cells) {
            if (cell.data_type != type || cell.fusion != fusion) continue;
            hidden_sizes.insert(cell.hidden_size);
            num_tokens.insert(cell.num_tokens);
            ++count;
          }
          table.add_row({std::int64_t{world_size}, text_of(name_of(launch)), text_of(name_of(type)),
                         text_of(name_of(fusion)), static_cast<std::int64_t>(hidden_sizes.size()),
                         static_cast<std::int64_t>(num_tokens.size()), count, strategies,
                         count * strategies});
          total += count;
        }
      }
    }
  }
  table.notes.push_back(fmt::format(
      "{}, {}; about {} where a cell takes {} s", core::counted(total, "cell"),
      core::counted(total * strategies, "measurement"),
      core::duration_text(static_cast<double>(total) * kSecondsPerCell), kSecondsPerCell));
  return {.title = "Plan of an all-reduce benchmark", .tables = {std::move(table)}};
}

std::string progress_text(const BenchmarkStanding& standing) {
  std::string text = fmt::format("{}: {} of {}", standing.doing, standing.done,
                                 core::counted(standing.total, "cell"));
  if (standing.left_seconds) {
    text += fmt::format(", {:.1f} cells/s, {} left", standing.cells_per_second,
                        core::duration_text(*standing.left_seconds));
  }
  if (standing.failures > 0) {
    text += ", " + core::counted(standing.failures, "failure");
  }
  return text;
}

model::Book benchmark_summary(const BenchmarkResult& result) {
  model::Table table{.name = "benchmark",
                     .title = "Strategies in cells, by outcome",
                     .columns = {{.name = "TP"},
                                 {.name = "launch"},
                                 {.name = "dtype"},
                                 {.name = "fusion"},
                                 {.name = "cells"},
                                 {.name = "expected"}}};
  for (const std::string_view outcome : kOutcomeNames)
    table.columns.push_back({.name = text_of(outcome)});
  table.columns.push_back({.name = "missing"});
  for (const BenchmarkCounts& counts : result.counts) {
    std::vector<model::Cell> row = {std::int64_t{counts.world_size},
                                    text_of(name_of(counts.launch)),
                                    text_of(name_of(counts.data_type)),
                                    text_of(name_of(counts.fusion)),
                                    counts.cells,
                                    counts.expected};
    for (const std::int64_t count : counts.outcomes)
      row.emplace_back(count);
    row.emplace_back(counts.missing());
    table.add_row(std::move(row));
  }
  table.notes.push_back(fmt::format("measured in {}", core::duration_text(result.wall_seconds)));
  for (const auto& file : result.files)
    table.notes.push_back(file.string());
  return {.title = "All-reduce benchmark", .tables = {std::move(table)}};
}

model::Book for_terminal(model::Book summary) {
  for (model::Table& table : summary.tables) {
    bool shortened = false;
    for (std::size_t row = 0; row < table.row_count(); ++row) {
      auto* fusion = std::get_if<std::string>(&table.at(row, *table.column("fusion")));
      if (fusion == nullptr || *fusion == name_of(Fusion::kNone)) continue;
      replace(*fusion, "RESIDUAL_RMS_NORM", "RMS");
      replace(*fusion, "_QUANT_", "+");
      shortened = true;
    }
    if (shortened) table.notes.emplace_back("RMS: RESIDUAL_RMS_NORM; +FP8, +NVFP4: ..._QUANT_...");
  }
  return summary;
}

}  // namespace assay::allreduce
