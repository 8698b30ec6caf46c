// `assay allreduce plot`: every figure of a folder of benchmarks.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "allreduce/plot/choice.h"
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
  std::vector<DrawnChoice> choices = {};
  std::optional<DrawnChoice> compare = {};
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

}  // namespace assay::allreduce
