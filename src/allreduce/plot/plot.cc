#include "allreduce/plot/plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <set>

#include "allreduce/benchmark_csv.h"
#include "allreduce/measured_on.h"
#include "allreduce/plot/drawings.h"
#include "allreduce/plot/grid.h"
#include "allreduce/plot/page.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/output_file.h"
#include "core/parallel.h"
#include "core/statistics.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMeasuredName = "fastest measured";

struct Figure {
  report::Drawing drawing;
  report::FigureFormat format;
  fs::path path;
};

fs::path folder_of(const PlotRequest& request) {
  return request.output.empty() ? request.data_dir / "viz" : request.output;
}

struct Comparison {
  Chooser first;
  Chooser second;
};

std::optional<Comparison> comparison_of(const PlotRequest& request,
                                        const std::vector<Source>& sources) {
  if (!request.compare) return std::nullopt;
  if (!request.choices.empty()) return Comparison{request.choices.front(), *request.compare};
  Benchmark all;
  for (const Source& source : sources) {
    for (const Grid& grid : source.grids)
      all.measurements.insert(all.measurements.end(), grid.measurements.begin(),
                              grid.measurements.end());
  }
  return Comparison{fastest_of(kMeasuredName, all), *request.compare};
}

std::vector<std::pair<const char*, report::Drawing>> drawings_of(
    const PlotRequest& request, const std::optional<Comparison>& comparison, const Grid& grid) {
  std::vector<Chooser> choices = {always(Strategy::kNccl)};
  choices.insert(choices.end(), request.choices.begin(), request.choices.end());
  std::vector<std::pair<const char*, report::Drawing>> drawings = {
      {"heatmap", report::drawing_of(time_figure(grid))},
      {"best_strategy", report::drawing_of(best_figure(grid))},
      {"strategy_difference_heatmap", report::drawing_of(difference_figure(grid))},
      {"latency", report::drawing_of(latency_figure(grid))},
      {"regret", report::drawing_of(regret_figure(grid, choices))},
  };
  if (comparison) {
    drawings.emplace_back("table_difference", report::drawing_of(choice_difference_figure(
                                                  grid, comparison->first, comparison->second)));
  }
  std::erase_if(drawings, [&](const auto& drawing) {
    const auto& kinds = request.kinds;
    return !kinds.empty() && std::find(kinds.begin(), kinds.end(), drawing.first) == kinds.end();
  });
  return drawings;
}

std::vector<Figure> figures_of(const PlotRequest& request,
                               const std::optional<Comparison>& comparison,
                               const std::vector<Source>& sources) {
  std::vector<Figure> figures;
  if (request.formats.empty()) return figures;
  for (const Source& source : sources) {
    for (const Grid& grid : source.grids) {
      const fs::path folder = folder_of(request) / name_of(grid.fusion);
      for (const auto& [kind, drawing] : drawings_of(request, comparison, grid)) {
        for (const report::FigureFormat format : request.formats) {
          figures.push_back(
              {drawing, format,
               folder / fmt::format("{}_{}{}", source.name, kind, report::extension_of(format))});
        }
      }
    }
  }
  return figures;
}

core::Status draw_all(const std::vector<Figure>& figures, const FigureDone& done) {
  for (const Figure& figure : figures) {
    if (auto made = core::make_directories(figure.path.parent_path()); !made.ok()) return made;
  }
  std::mutex mutex;  // guards `result` and `finished`
  core::Status result;
  std::size_t finished = 0;
  core::parallel_for(figures.size(), 0, [&](std::size_t i) {
    if (core::interrupted()) return;
    const core::Status drawn = report::draw(figures[i].drawing, figures[i].format, figures[i].path);
    const std::lock_guard lock(mutex);
    if (!drawn.ok() && result.ok()) result = drawn;
    done(++finished, figures.size());
  });
  if (core::interrupted()) return core::check_interrupt();
  return result;
}

core::Status write_page(const PlotRequest& request, const std::vector<Source>& sources) {
  if (request.page.empty()) return {};
  if (request.page.has_parent_path()) {
    if (auto made = core::make_directories(request.page.parent_path()); !made.ok()) return made;
  }
  const std::string html = ASSAY_TRY(page_html(sources, request.choices));
  return core::write_file(request.page, html);
}

}  // namespace

core::Result<PlotResult> plot(const PlotRequest& request, const FigureDone& done) {
  PlotResult result;
  const std::vector<Source> sources = ASSAY_TRY(read_sources(request, result.warnings));
  const std::optional<Comparison> comparison = comparison_of(request, sources);
  const std::vector<Figure> figures = figures_of(request, comparison, sources);
  std::optional<core::FileLock> lock;
  if (!figures.empty()) {
    ASSAY_TRY(report::gnuplot_is_there());
    lock.emplace(ASSAY_TRY(core::FileLock::acquire_folder(folder_of(request))));
    ASSAY_TRY(draw_all(figures, done));
  }
  ASSAY_TRY(write_page(request, sources));
  for (const Figure& figure : figures)
    result.written.push_back(figure.path);
  if (!request.page.empty()) result.written.push_back(request.page);
  result.book.title = "All-reduce strategies";
  result.book.tables = {benchmarks_table(sources), strategies_table(sources)};
  if (comparison) {
    result.book.tables.push_back(differences_table(sources, comparison->first, comparison->second));
  }
  warn_of_single_strategies(sources, result.warnings);
  return result;
}

namespace {

namespace fs = std::filesystem;

bool is_wanted(const PlotRequest& request, Fusion fusion) {
  const auto& wanted = request.fusions;
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), fusion) != wanted.end();
}

core::Status check_fusions(const PlotRequest& request, const std::set<Fusion>& measured) {
  for (const Fusion fusion : request.fusions) {
    if (measured.count(fusion) > 0) continue;
    std::vector<std::string> names;
    names.reserve(measured.size());
    for (const Fusion one : measured)
      names.emplace_back(name_of(one));
    return core::Error{fmt::format("no times of the fusion {} in '{}'; there are times of {}",
                                   name_of(fusion), request.data_dir.string(),
                                   core::join(names, ", "))};
  }
  return {};
}

}  // namespace

core::Result<std::vector<Source>> read_sources(const PlotRequest& request,
                                               model::Warnings& warnings) {
  const BenchmarkFolder files =
      ASSAY_TRY(find_all_benchmarks(request.data_dir, request.sm_version));
  ASSAY_TRY(check_one_gpu(files.files, "keep them in two folders, for figures each"));
  std::vector<Source> sources;
  std::set<Fusion> measured;
  for (const fs::path& path : files.files) {
    Benchmark benchmark{.sm_version = files.sm_version, .measurements = {}, .warnings = {}};
    benchmark.measurements = ASSAY_TRY(read_benchmark_csv(path, &warnings));
    Source source{.name = path.stem().string(),
                  .grids = {},
                  .measured_on = ASSAY_TRY(measured_on(path)).text};
    for (const Fusion fusion : fusions_of(benchmark)) {
      measured.insert(fusion);
      if (!is_wanted(request, fusion)) continue;
      auto grid = grid_of(benchmark, fusion);
      if (!grid.ok()) return grid.error().context(path.string());
      source.grids.push_back(std::move(grid).value());
    }
    if (fusions_of(benchmark).empty()) {
      warnings.add("benchmark file without any time", "no figures", path.string());
    }
    if (!source.grids.empty()) sources.push_back(std::move(source));
  }
  if (measured.empty()) {
    return core::Error{
        fmt::format("no times in the benchmark files of '{}'", request.data_dir.string())};
  }
  if (auto checked = check_fusions(request, measured); !checked.ok()) return checked.error();
  return sources;
}

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
                                             {.name = "max", .unit = "us"},
                                             {.name = "measured on"}});
  each_grid(sources, [&](const Source& source, const Grid& grid) {
    const std::vector<double> times = times_of(grid);
    std::vector<model::Cell> row = subject_cells(grid);
    row.insert(row.end(), {static_cast<std::int64_t>(grid.strategies.size()),
                           static_cast<std::int64_t>(grid.token_counts.size()),
                           static_cast<std::int64_t>(grid.hidden_sizes.size()),
                           static_cast<std::int64_t>(times.size()), core::minimum(times),
                           core::maximum(times), source.measured_on});
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
                               const Chooser& first,
                               const Chooser& second) {
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
    std::vector<TableDifference> found = differences(grid, first, second);
    std::stable_sort(found.begin(), found.end(),
                     [](const TableDifference& a, const TableDifference& b) {
                       constexpr double kLast = -std::numeric_limits<double>::infinity();
                       return a.cost_percent.value_or(kLast) > b.cost_percent.value_or(kLast);
                     });
    for (const TableDifference& one : found) {
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
    const bool is_auto = !grid.strategies.empty() && grid.strategies.front() == Strategy::kAuto;
    warnings.add(is_auto ? "AUTO measured without strategies" : "only one strategy measured",
                 is_auto ? "which one it took, and what others take, is not known"
                         : "it is the best everywhere",
                 source.name + ", " + std::string(name_of(grid.fusion)));
  });
}

}  // namespace assay::allreduce
