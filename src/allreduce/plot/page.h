// One HTML page with every figure and every time.
#pragma once

#include <string>
#include <vector>

#include "allreduce/plot/chooser.h"
#include "allreduce/plot/plot.h"
#include "core/result.h"
#include "report/page.h"

namespace assay::allreduce {

// Returns what the page shows. The tables must outlive it.
report::Page page_of(const std::vector<Source>& sources,
                     const std::vector<Chooser>& choices,
                     const std::vector<model::Table>& tables);

// One row for each time, or the reason why there is none.
model::Table measurements_table(const std::vector<Source>& sources);

// The same in one sentence: which strategy is the fastest how often, and what NCCL alone would
// cost.
std::string answer_of(const std::vector<Source>& sources);

core::Result<std::string> page_html(const std::vector<Source>& sources,
                                    const std::vector<Chooser>& choices);

}  // namespace assay::allreduce
