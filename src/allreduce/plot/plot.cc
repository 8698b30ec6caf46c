#include "allreduce/plot/plot.h"

#include <fmt/core.h>

#include <atomic>
#include <mutex>

#include "allreduce/plot/drawings.h"
#include "allreduce/plot/page.h"
#include "allreduce/plot/source.h"
#include "allreduce/plot/statistics.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/parallel.h"

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

// What is compared, if anything is.
struct Comparison {
  DrawnChoice first;
  DrawnChoice second;
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
  std::vector<DrawnChoice> choices = {always(Strategy::kNccl)};
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
  if (figures.empty()) return {};
  if (auto there = report::gnuplot_is_there(); !there.ok()) return there;
  for (const Figure& figure : figures) {
    if (auto made = core::make_directories(figure.path.parent_path()); !made.ok()) return made;
  }
  std::mutex mutex;  // guards the two below
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
  return core::write_file(request.page, page_html(sources, request.choices));
}

}  // namespace

core::Result<PlotResult> plot(const PlotRequest& request, const FigureDone& done) {
  PlotResult result;
  const std::vector<Source> sources = ASSAY_TRY(read_sources(request, result.warnings));
  const std::optional<Comparison> comparison = comparison_of(request, sources);
  const std::vector<Figure> figures = figures_of(request, comparison, sources);
  ASSAY_TRY(draw_all(figures, done));
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

}  // namespace assay::allreduce
