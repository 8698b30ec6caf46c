// One HTML page with every figure, to be zoomed and pointed at. It holds its data and its program;
// nothing is fetched.
#pragma once

#include <string>
#include <vector>

#include "allreduce/plot/chooser.h"
#include "allreduce/plot/plot.h"

namespace assay::allreduce {

std::string page_html(const std::vector<Source>& sources, const std::vector<Chooser>& choices);

}  // namespace assay::allreduce
