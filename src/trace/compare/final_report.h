// final_analysis_report: one workbook that holds the answer, the comparisons and, hidden, what
// they were made from.
#pragma once

#include "model/table.h"
#include "trace/compare/answer.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// Summary_Dashboard is first. By default it opens with the answer and a chart of both sides, and
// has a row for each figure of the timeline with its confidence interval, verdict and meaning in
// words; the sheet `Answer` follows. For kTraceLens it is the public tool's.
// `timeline` and `collective` are the books of timeline_comparison and collective_comparison.
model::Book final_report(const Sides& sides,
                         const model::Book& timeline,
                         const model::Book& collective,
                         const Answer& answer);

// The answer in words, and what of the dashboard fits a terminal.
model::Table terminal_summary(const model::Table& dashboard,
                              const Answer& answer,
                              const Sides& sides);

}  // namespace assay::trace
