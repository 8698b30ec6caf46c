// One HTML page with every figure, which the reader can zoom and point at. It contains its data and
// its program and fetches nothing.
#pragma once

#include <string>
#include <vector>

#include "allreduce/plot/chooser.h"
#include "allreduce/plot/plot.h"

namespace assay::allreduce {

std::string page_html(const std::vector<Source>& sources, const std::vector<Chooser>& choices);

}  // namespace assay::allreduce
