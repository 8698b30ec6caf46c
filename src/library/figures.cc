// The figures of an all-reduce benchmark behind the C interface.
#include "allreduce/plot/figures.h"

#include <assay/figures.h>
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "allreduce/benchmark_csv.h"
#include "library/error.h"
#include "library/result.h"

namespace assay::library {
namespace {

namespace fs = std::filesystem;

core::Result<allreduce::Benchmark> read_benchmark(const fs::path& path) {
  allreduce::Benchmark benchmark{.sm_version = 0, .measurements = {}, .warnings = {}};
  benchmark.measurements = ASSAY_TRY(allreduce::read_benchmark_csv(path, &benchmark.warnings));
  if (const auto name = allreduce::benchmark_file_name(path.filename().string()))
    benchmark.sm_version = name->sm_version;
  return benchmark;
}

core::Status take_best(Result& taken,
                       const core::Result<std::vector<allreduce::BestStrategy>>& cells) {
  if (!cells.ok()) return cells.error();
  model::Table table{
      .name = "best_strategy",
      .title = "Fastest strategy of each cell",
      .columns = {{.name = "num_tokens"},
                  {.name = "hidden_size"},
                  {.name = "best_strategy"},
                  {.name = "best_time", .unit = "us", .better = model::Better::kLower}}};
  for (const allreduce::BestStrategy& cell : cells.value())
    table.add_row({cell.num_tokens, cell.hidden_size,
                   std::string(allreduce::name_of(cell.best_strategy)), cell.best_time_us});
  taken.take_columns(columns_of(table));
  return {};
}

// What a caller asks for, as C hands it over.
struct Asked {
  const char* benchmark;
  const char* fusion_op;
  const char* save_path;
};

template <class Draw>
int draw_from(const Asked& asked, Result& taken, const Draw& draw) {
  if (asked.benchmark == nullptr || asked.save_path == nullptr)
    return ended(ASSAY_WRONG_USAGE, "benchmark and save_path must not be null");
  const std::string name = asked.fusion_op == nullptr ? "NONE" : asked.fusion_op;
  const auto fusion = allreduce::fusion_named(name);
  if (!fusion) {
    return ended(ASSAY_WRONG_USAGE, fmt::format("there is no fusion '{}'; there are {}", name,
                                                fmt::join(allreduce::kFusionNames, ", ")));
  }
  const auto benchmark = read_benchmark(asked.benchmark);
  if (!benchmark.ok()) return ended(ASSAY_FAILED, benchmark.error().message);
  for (const model::Warning& warning : benchmark.value().warnings.all())
    taken.take_warning(warning.sentence());
  const core::Status drawn = draw(benchmark.value(), *fusion, fs::path(asked.save_path));
  return drawn.ok() ? ended(ASSAY_OK, "") : ended(ASSAY_FAILED, drawn.error().message);
}

// `draw` takes the benchmark, the fusion, the path and the result.
template <class Draw>
int figure(const Asked& asked, assay_result** result, const Draw& draw) {
  return guarded([&] {
    assay_result* made = nullptr;
    make_result(nullptr, &made);
    const std::unique_ptr<assay_result> owned(result == nullptr ? made : nullptr);
    if (result != nullptr) *result = made;
    return draw_from(asked, made->taken,
                     [&](const auto&... given) { return draw(given..., made->taken); });
  });
}

}  // namespace
}  // namespace assay::library

using namespace assay::library;  // NOLINT: what follows is C's
namespace allreduce = assay::allreduce;

int assay_visualize_2d_heatmap(const char* benchmark,
                               const char* fusion_op,
                               const char* save_path,
                               assay_result** result) {
  return figure({benchmark, fusion_op, save_path}, result,
                [](const auto& times, auto fusion, const auto& path, Result& /*taken*/) {
                  return allreduce::visualize_2d_heatmap(times, fusion, path);
                });
}

int assay_visualize_2d_best_strategy(const char* benchmark,
                                     const char* fusion_op,
                                     const char* save_path,
                                     assay_result** result) {
  return figure({benchmark, fusion_op, save_path}, result,
                [](const auto& times, auto fusion, const auto& path, Result& taken) {
                  return take_best(taken,
                                   allreduce::visualize_2d_best_strategy(times, fusion, path));
                });
}

int assay_visualize_strategy_difference_heatmaps(const char* benchmark,
                                                 const char* fusion_op,
                                                 const char* save_path,
                                                 assay_result** result) {
  return figure({benchmark, fusion_op, save_path}, result,
                [](const auto& times, auto fusion, const auto& path, Result& /*taken*/) {
                  return allreduce::visualize_strategy_difference_heatmaps(times, fusion, path);
                });
}
