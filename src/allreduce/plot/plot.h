// `assay allreduce plot`: every figure of a folder of benchmarks.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allreduce/plot/chooser.h"
#include "allreduce/plot/grid.h"
#include "allreduce/strategy.h"
#include "core/result.h"
#include "model/table.h"
#include "model/warnings.h"
#include "report/gnuplot.h"

namespace assay::allreduce {

struct PlotRequest {
  std::filesystem::path data_dir = "data";
  std::optional<int> sm_version = {};              // may stay open where there is one only
  std::vector<Fusion> fusions = {};                // empty: all that were measured
  std::vector<report::FigureFormat> formats = {};  // may be empty: the page alone
  std::filesystem::path output = {};               // empty: data_dir/viz
  std::filesystem::path page = {};                 // an HTML page; empty for none
  // Regret is drawn for these; and with `compare` the first of them, or the fastest of the data
  // where there is none, is set beside it.
  std::vector<Chooser> choices = {};
  std::optional<Chooser> compare = {};
};

struct PlotResult {
  model::Book book;  // what the figures show, in numbers
  std::vector<std::filesystem::path> written = {};
  model::Warnings warnings = {};
};

// Called from several threads as figures appear.
using FigureDone = std::function<void(std::size_t done, std::size_t all)>;

// Figures are output/FUSION/<name of the benchmark file>_<kind>.<format>. Errors: no benchmark
// file that fits, a file that cannot be read, a named fusion that no file has, gnuplot is not
// installed, a file that cannot be written.
core::Result<PlotResult> plot(const PlotRequest& request, const FigureDone& done);

// What is plotted: each benchmark file of a folder, a grid a fusion.

struct Source {
  std::string name;  // of the file, without ".csv"
  std::vector<Grid> grids;
};

// Files without any time are left out with a warning, if others have some.
core::Result<std::vector<Source>> read_sources(const PlotRequest& request,
                                               model::Warnings& warnings);

// The figures in numbers, for standard output.

// One row a fusion of a file: its strategies, token counts, hidden sizes, times.
model::Table benchmarks_table(const std::vector<Source>& sources);

// One row a strategy of each: where it is the fastest and how far it is from that elsewhere.
model::Table strategies_table(const std::vector<Source>& sources);

// One row a cell in which two choices differ, the costliest first.
model::Table differences_table(const std::vector<Source>& sources,
                               const Chooser& first,
                               const Chooser& second);

// Grids with a single strategy: nothing can be slower than it.
void warn_of_single_strategies(const std::vector<Source>& sources, model::Warnings& warnings);

}  // namespace assay::allreduce
