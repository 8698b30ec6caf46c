// The charts that workbooks draw of tables, by the tables' names and columns.
#pragma once

#include "model/table.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// One row for each side and rank: the parts that add up to a step, with a chart of them. No rows
// where neither side names its steps.
model::Table composition_table(const Sides& sides);

// Adds charts to the tables of a report that have their columns: the time of each rank, and bus
// bandwidth by the size of messages.
void add_charts(model::Book& book);

}  // namespace assay::trace
