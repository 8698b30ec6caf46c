// `assay allreduce plot`: draws every figure of a folder of benchmarks.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allreduce/plot/chooser.h"
#include "allreduce/plot/grid.h"
#include "allreduce/strategy.h"
#include "core/result.h"
#include "model/table.h"
#include "model/warnings.h"
#include "report/gnuplot.h"

namespace assay::allreduce {

// The figures, by the ends of their files' names. table_difference needs `compare`.
inline constexpr std::array<std::string_view, 6> kFigureKinds = {
    "heatmap", "best_strategy", "strategy_difference_heatmap",
    "latency", "regret",        "table_difference"};

struct PlotRequest {
  std::filesystem::path data_dir = "data";
  std::optional<int> sm_version = {};              // may be omitted if there is only one
  std::vector<Fusion> fusions = {};                // empty for all that were measured
  std::vector<std::string> kinds = {};             // of kFigureKinds; empty for all
  std::vector<report::FigureFormat> formats = {};  // empty for the page alone
  std::filesystem::path output = {};               // empty for data_dir/viz
  std::filesystem::path page = {};                 // an HTML page; empty for none
  // Regret is drawn for these. `compare` is compared with the first of them or, if there is none,
  // with the fastest measured strategies.
  std::vector<Chooser> choices = {};
  std::optional<Chooser> compare = {};
};

struct PlotResult {
  model::Book book;  // the numbers that the figures show
  std::vector<std::filesystem::path> written = {};
  model::Warnings warnings = {};
};

// Called from several threads as figures appear.
using FigureDone = std::function<void(std::size_t done, std::size_t all)>;

// Writes the figures to output/FUSION/<name of the benchmark file>_<kind>.<format>. Errors: no
// benchmark file that fits, a file that cannot be read, a requested fusion that no file has,
// gnuplot is not installed, a file that cannot be written.
core::Result<PlotResult> plot(const PlotRequest& request, const FigureDone& done);

// The data of a plot: each benchmark file of a folder, with one grid for each fusion.

struct Source {
  std::string name;  // the name of the file without ".csv"
  std::vector<Grid> grids;
  std::string measured_on = {};  // by the .json beside the file; "" without one
};

// Leaves out files without any time, with a warning. If no file has a time, that is an error, and
// so is a .json that contradicts the name of its file, or files of several GPUs.
core::Result<std::vector<Source>> read_sources(const PlotRequest& request,
                                               model::Warnings& warnings);

// The numbers of the figures, for standard output.

// One row for each fusion of a file: the numbers of strategies, token counts, hidden sizes and
// times, and the shortest and longest time.
model::Table benchmarks_table(const std::vector<Source>& sources);

// One row for each strategy of each fusion of a file: how often it is the fastest, and its average
// and worst difference from the fastest.
model::Table strategies_table(const std::vector<Source>& sources);

// One row for each cell in which two choices differ; within a fusion of a file, the costliest
// first.
model::Table differences_table(const std::vector<Source>& sources,
                               const Chooser& first,
                               const Chooser& second);

// Warns about grids with a single strategy, which is always the fastest there, and about those with
// AUTO alone.
void warn_of_single_strategies(const std::vector<Source>& sources, model::Warnings& warnings);

}  // namespace assay::allreduce
