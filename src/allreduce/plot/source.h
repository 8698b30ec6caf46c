// What is plotted: each benchmark file of a folder, a grid a fusion.
#pragma once

#include <string>
#include <vector>

#include "allreduce/plot/grid.h"
#include "allreduce/plot/plot.h"

namespace assay::allreduce {

struct Source {
  std::string name;  // of the file, without ".csv"
  std::vector<Grid> grids;
};

// Files without any time are left out with a warning, if others have some.
core::Result<std::vector<Source>> read_sources(const PlotRequest& request,
                                               model::Warnings& warnings);

}  // namespace assay::allreduce
