#include "allreduce/plot/chooser.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "allreduce/benchmark_csv.h"
#include "allreduce/codegen/lookup_table.h"
#include "allreduce/plot/drawings.h"
#include "allreduce/plot/heatmaps.h"
#include "allreduce/shipped_tables.h"
#include "core/counted.h"
#include "core/files.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

std::optional<TableDifference> difference_at(const Grid& grid,
                                             const Chooser& first,
                                             const Chooser& second,
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
  return TableDifference{cell, *one, *other, cost};
}

// Returns them in the order of kStrategies.
std::vector<Strategy> arms_of(const LookupTable& table) {
  std::set<Strategy> known = {table.fallback};
  for (const Strategy strategy : public_strategies())
    known.insert(strategy);
  for (const LookupCell& cell : table.cells)
    known.insert(cell.strategy);
  std::vector<Strategy> arms;
  for (const StrategySpec& spec : kStrategies) {
    if (known.contains(spec.strategy)) arms.push_back(spec.strategy);
  }
  return arms;
}

std::string with_and(const std::vector<std::string>& words) {
  if (words.size() < 2) return core::join(words, "");
  const std::vector<std::string> first(words.begin(), words.end() - 1);
  return core::join(first, ", ") + " and " + words.back();
}

}  // namespace

Cell cell_of(const Grid& grid, std::size_t row, std::size_t column) {
  return {grid.world_size, grid.data_type, grid.fusion, grid.hidden_sizes[row],
          grid.token_counts[column]};
}

Chooser always(Strategy strategy) {
  return {fmt::format("{} always", name_of(strategy)),
          [strategy](const Cell&, Launch) { return strategy; }};
}

Chooser chooser_of(std::string name, LookupTable table) {
  std::vector<Strategy> arms = arms_of(table);
  return {.name = std::move(name),
          .strategy =
              [table = std::move(table)](const Cell& cell, Launch) {
                return table.lookup(cell.world_size, cell.fusion, cell.hidden_size,
                                    cell.num_tokens);
              },
          .arms = std::move(arms)};
}

std::vector<std::string> names_of(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::string> names(paths.size());
  std::vector<std::filesystem::path> rests;
  for (const std::filesystem::path& path : paths)
    rests.push_back(path.has_filename() ? path : path.parent_path());
  const auto is_taken = [&](std::size_t i) {
    return std::count(names.begin(), names.end(), names[i]) > 1 && !rests[i].empty();
  };
  std::vector<std::size_t> unclear(paths.size());
  std::iota(unclear.begin(), unclear.end(), 0U);
  while (!unclear.empty()) {
    for (const std::size_t i : unclear) {
      const std::filesystem::path part = rests[i].filename();
      names[i] = names[i].empty() ? part.string() : (part / names[i]).string();
      rests[i] = rests[i].parent_path();
      if (!rests[i].has_filename()) rests[i].clear();
    }
    std::erase_if(unclear, [&](std::size_t i) { return !is_taken(i); });
  }
  return names;
}

core::Result<Chooser> read_chooser(const std::filesystem::path& path,
                                   const std::string& name,
                                   std::optional<int> sm_version) {
  for (const ShippedTable& shipped : shipped_tables()) {
    if (path.string() == shipped.name) return chooser_of(std::string(shipped.name), shipped.table);
  }
  if (core::is_folder(path)) {
    const BenchmarkFolder folder = ASSAY_TRY(find_all_benchmarks(path, sm_version));
    return fastest_of(name, ASSAY_TRY(read_benchmarks(folder)));
  }
  if (path.extension() == ".cpp" || path.extension() == ".h") {
    return chooser_of(name, ASSAY_TRY(read_lookup_table(path, sm_version)));
  }
  const std::string json = ASSAY_TRY(core::read_file(path));
  StrategyTable table = ASSAY_TRY(table_from_json(json, path.string()));
  if (sm_version && table.sm_version != *sm_version) {
    return core::Error{fmt::format("'{}' is a table of SM {}, and the measurements are of SM {}",
                                   path.string(), table.sm_version, *sm_version)};
  }
  return chooser_of(name, std::move(table));
}

Chooser chooser_of(std::string name, StrategyTable table) {
  return {std::move(name), [table = std::move(table)](const Cell& cell, Launch) {
            return table.lookup(cell.world_size, cell.fusion, cell.data_type, cell.hidden_size,
                                cell.num_tokens);
          }};
}

Chooser fastest_of(std::string name, const Benchmark& benchmark) {
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
                                     const Chooser& choice,
                                     std::size_t row,
                                     std::size_t column) {
  const auto chosen = choice.strategy(cell_of(grid, row, column), grid.launch);
  if (!chosen) return std::nullopt;
  return grid.difference_percent(*chosen, row, column, choice.arms);
}

std::vector<std::string> texts_of_arms(const std::vector<Chooser>& choices) {
  std::map<std::vector<Strategy>, std::vector<std::string>> names_by_arms;
  for (const Chooser& choice : choices) {
    if (!choice.arms.empty()) names_by_arms[choice.arms].push_back(choice.name);
  }
  std::vector<std::string> texts;
  for (const auto& [arms, names] : names_by_arms) {
    std::vector<std::string> strategies;
    for (const Strategy strategy : arms)
      strategies.emplace_back(name_of(strategy));
    texts.push_back(
        fmt::format("{} beside the fastest of {} alone", with_and(names), with_and(strategies)));
  }
  return texts;
}

std::vector<TableDifference> differences(const Grid& grid,
                                         const Chooser& first,
                                         const Chooser& second) {
  std::vector<TableDifference> found;
  for (std::size_t row = 0; row < grid.hidden_sizes.size(); ++row) {
    for (std::size_t column = 0; column < grid.token_counts.size(); ++column) {
      const auto one = difference_at(grid, first, second, row, column);
      if (one) found.push_back(*one);
    }
  }
  return found;
}

namespace {

std::size_t count_of_both(const Grid& grid, const Chooser& first, const Chooser& second) {
  std::size_t count = 0;
  for (std::size_t row = 0; row < grid.hidden_sizes.size(); ++row) {
    for (std::size_t column = 0; column < grid.token_counts.size(); ++column) {
      const Cell cell = cell_of(grid, row, column);
      if (first.strategy(cell, grid.launch) && second.strategy(cell, grid.launch)) ++count;
    }
  }
  return count;
}

constexpr const char* kUnknownCost = "?";
constexpr report::Color kSame = report::color_of(0xe6e6e6);

double largest_cost(const std::vector<TableDifference>& differing) {
  double most = 0;
  for (const TableDifference& one : differing)
    most = std::max(most, std::abs(one.cost_percent.value_or(0)));
  return most;
}

// Returns a round number, so that the ticks are round too.
double scale_end(double largest_percent) {
  for (const double end : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0}) {
    if (largest_percent <= end) return end;
  }
  return 100;
}

// A choice can be at most 100 % faster, so only the upper end may be passed.
report::ColorBar cost_bar(const report::ColorScale& scale, double largest_percent) {
  const double end = scale.high;
  report::ColorBar bar = report::color_bar("Slower (%)", scale, {-end, -end / 2, 0, end / 2, end});
  if (largest_percent > end) bar.ticks.back().text = "≥ " + bar.ticks.back().text;
  return bar;
}

// Uses at most three characters from 100 to 999 %, so that neighbours do not run together.
std::string signed_percent(double percent) {
  if (std::abs(percent) < 9.95) return fmt::format("{:+.1f}", percent);
  return fmt::format(fmt::runtime(percent < 99.5 ? "{:+.0f}" : "{:.0f}"), percent);
}

report::HeatmapCell chosen_cell(const Chooser& choice, const Cell& cell, Launch launch) {
  const auto strategy = choice.strategy(cell, launch);
  if (!strategy) return {};
  return {.color = color_of(*strategy)};
}

report::HeatmapCell cost_cell(const std::vector<TableDifference>& differing,
                              const report::ColorScale& scale,
                              const Cell& cell) {
  const auto found = std::find_if(differing.begin(), differing.end(),
                                  [&](const TableDifference& one) { return one.cell == cell; });
  if (found == differing.end()) return {.color = kSame};
  if (!found->cost_percent) return {.color = std::nullopt, .text = kUnknownCost};
  return {.color = scale.at(*found->cost_percent), .text = signed_percent(*found->cost_percent)};
}

// Explains what the panels hold: strategies by colour, cells with the same choice, and cells
// without a cost.
void add_legend(report::Heatmap& figure) {
  const auto holds = [&](const auto& test) {
    return std::any_of(figure.panels.begin(), figure.panels.end(), [&](const auto& panel) {
      return std::any_of(panel.cells.begin(), panel.cells.end(), test);
    });
  };
  for (const StrategySpec& spec : kStrategies) {
    const report::HeatmapCell swatch{.color = color_of(spec.strategy)};
    if (holds([&](const auto& cell) { return cell.color == swatch.color; })) {
      figure.legend.push_back({.swatch = swatch, .text = std::string(spec.name)});
    }
  }
  figure.legend.push_back({.swatch = {.color = kSame}, .text = "same choice"});
  if (holds([](const auto& cell) { return cell.text == kUnknownCost; })) {
    figure.legend.push_back({.swatch = {.color = std::nullopt, .text = kUnknownCost},
                             .text = "a choice without a time"});
  }
}

}  // namespace

report::Heatmap choice_difference_figure(const Grid& grid,
                                         const Chooser& first,
                                         const Chooser& second) {
  report::Heatmap figure = empty_heatmap(
      grid,
      fmt::format("Two Tables and What Their Difference Costs (Fusion: {})", name_of(grid.fusion)));
  const std::vector<TableDifference> differing = differences(grid, first, second);
  const double most = largest_cost(differing);
  const double end = scale_end(most);
  const report::ColorScale scale{.colors = report::blue_to_red(), .low = -end, .high = end};
  for (const Chooser* choice : {&first, &second}) {
    figure.panels.push_back(panel_of(grid, choice->name, [&](std::size_t row, std::size_t column) {
      return chosen_cell(*choice, cell_of(grid, row, column), grid.launch);
    }));
  }
  figure.panels.push_back(panel_of(
      grid,
      fmt::format("second beside first: {} of {} {}", differing.size(),
                  core::counted(count_of_both(grid, first, second), "cell"),
                  differing.size() == 1 ? "differs" : "differ"),
      [&](std::size_t row, std::size_t column) {
        const Cell cell = cell_of(grid, row, column);
        const bool both = first.strategy(cell, grid.launch) && second.strategy(cell, grid.launch);
        return both ? cost_cell(differing, scale, cell) : report::HeatmapCell{};
      }));
  figure.bar = cost_bar(scale, most);
  add_legend(figure);
  add_legend_of_missing(figure);
  return figure;
}

}  // namespace assay::allreduce
