// Stacks the sheets of several books, with a column that says which book each row comes from.
#pragma once

#include <span>
#include <string>

#include "model/table.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// The book and the label must outlive this object.
struct LabelledBook {
  const model::Book& book;
  const model::Cell& label;
};

// Returns each sheet that any book has, in the order of first appearance: the rows of the first
// book, then those of the next, and a last column `marker` with the book's label. Columns that a
// book lacks are empty in its rows.
model::Book stacked(std::span<const LabelledBook> books, const model::Column& marker);

// Stacks the runs of one configuration, one book each, with the marker kRepeatColumn.
model::Book stacked_runs(std::span<const model::Book> books, std::span<const int> runs);

// Stacks both sides with the marker `source`; for kTraceLens, only sheets that both have.
model::Book combine(const model::Book& baseline, const model::Book& test, const Sides& sides);

// Returns timeline_summary of each run, stacked when the configuration has repeats.
model::Book summary_of_runs(const Configuration& side, Compat compat);

// Return gpu_timeline_combined and collective_combined.
model::Book combined_timelines(const Sides& sides);
model::Book combined_collectives(const Sides& sides);

// Returns the combined sheets whose names contain "summary", from the collective reports.
model::Book combined_summaries(const Sides& sides);

// Turns whole doubles into integers, as the public tool does when it goes through a workbook.
void pass_through_workbook(model::Book& book);

// Returns a copy under another name, for the final report.
model::Table renamed(const model::Table& table, const std::string& name, model::Visibility shown);

}  // namespace assay::trace
