// The sheets of several books, one below the other, with a column that says which row is whose.
#pragma once

#include <span>
#include <string>

#include "model/table.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// Both outlive it.
struct LabelledBook {
  const model::Book& book;
  const model::Cell& label;
};

// Each sheet that any book has, in the order of their first: the rows of the first book, then the
// next one's, and a last column `marker` with the book's label. A column that a book lacks is
// empty there.
model::Book stacked(std::span<const LabelledBook> books, const model::Column& marker);

// The same for the runs of one configuration, a book each: the marker is kRepeatColumn.
model::Book stacked_runs(std::span<const model::Book> books, std::span<const int> runs);

// The two stacked with the marker `source`; for kTraceLens only sheets that both have.
model::Book combine(const model::Book& baseline, const model::Book& test, const Sides& sides);

// timeline_summary of each run, stacked when the configuration has repeats.
model::Book summary_of_runs(const Configuration& side, Compat compat);

// gpu_timeline_combined and collective_combined.
model::Book combined_timelines(const Sides& sides);
model::Book combined_collectives(const Sides& sides);

// The combined sheets of the collective reports with "summary" in their name.
model::Book combined_summaries(const Sides& sides);

// Whole doubles become integers, as they do for the public tool on its way through a workbook.
void pass_through_workbook(model::Book& book);

// A copy under another name, for the final report.
model::Table renamed(const model::Table& table, const std::string& name, model::Visibility shown);

}  // namespace assay::trace
