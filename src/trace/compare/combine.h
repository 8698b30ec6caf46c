// The sheets of two books, one below the other, with a column that says which row is whose.
#pragma once

#include <string>

#include "model/table.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// Each sheet that both have (by default: that either has), in the baseline's order: the
// baseline's rows, then the test's, and a last column `source` with the label. A column that one
// side lacks is empty there.
model::Book combine(const model::Book& baseline, const model::Book& test, const Sides& sides);

// gpu_timeline_combined and collective_combined.
model::Book combined_timelines(const Sides& sides);
model::Book combined_collectives(const Sides& sides);

// Whole doubles become integers, as they do for the public tool on its way through a workbook.
void pass_through_workbook(model::Book& book);

// A copy under another name, for the final report.
model::Table renamed(const model::Table& table, const std::string& name, model::Visibility shown);

}  // namespace assay::trace
