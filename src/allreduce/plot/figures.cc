#include "allreduce/plot/figures.h"

#include <fmt/core.h>

#include "allreduce/plot/drawings.h"
#include "report/gnuplot.h"

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;

core::Status save(const report::Drawing& drawing, fs::path path) {
  if (path.extension().empty()) path += ".png";
  for (const auto format : {report::FigureFormat::kPng, report::FigureFormat::kSvg}) {
    if (path.extension() == report::extension_of(format))
      return report::draw(drawing, format, path);
  }
  return core::Error{fmt::format("cannot draw '{}': a figure is a .png or a .svg", path.string())};
}

}  // namespace

core::Status visualize_2d_heatmap(const Benchmark& benchmark,
                                  Fusion fusion,
                                  const fs::path& save_path) {
  const Grid grid = ASSAY_TRY(grid_of(benchmark, fusion));
  return save(report::drawing_of(time_figure(grid)), save_path);
}

core::Result<std::vector<BestStrategy>> visualize_2d_best_strategy(const Benchmark& benchmark,
                                                                   Fusion fusion,
                                                                   const fs::path& save_path) {
  const Grid grid = ASSAY_TRY(grid_of(benchmark, fusion));
  ASSAY_TRY(save(report::drawing_of(best_figure(grid)), save_path));
  return best_table(grid);
}

core::Status visualize_strategy_difference_heatmaps(const Benchmark& benchmark,
                                                    Fusion fusion,
                                                    const fs::path& save_path) {
  const Grid grid = ASSAY_TRY(grid_of(benchmark, fusion));
  return save(report::drawing_of(difference_figure(grid)), save_path);
}

core::Status visualize_latency(const Benchmark& benchmark,
                               Fusion fusion,
                               const fs::path& save_path) {
  const Grid grid = ASSAY_TRY(grid_of(benchmark, fusion));
  return save(report::drawing_of(latency_figure(grid)), save_path);
}

core::Status visualize_regret(const Benchmark& benchmark,
                              Fusion fusion,
                              const std::vector<DrawnChoice>& choices,
                              const fs::path& save_path) {
  const Grid grid = ASSAY_TRY(grid_of(benchmark, fusion));
  return save(report::drawing_of(regret_figure(grid, choices)), save_path);
}

core::Status visualize_choice_difference(const Benchmark& benchmark,
                                         Fusion fusion,
                                         const DrawnChoice& first,
                                         const DrawnChoice& second,
                                         const fs::path& save_path) {
  const Grid grid = ASSAY_TRY(grid_of(benchmark, fusion));
  return save(report::drawing_of(choice_difference_figure(grid, first, second)), save_path);
}

}  // namespace assay::allreduce
