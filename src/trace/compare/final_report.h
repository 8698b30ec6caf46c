// final_analysis_report: one workbook with the answer, the comparisons and, on hidden sheets, the
// data behind them.
#pragma once

#include "model/table.h"
#include "trace/compare/answer.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// Summary_Dashboard is the first sheet. By default it opens with the answer and a chart of both
// sides, and has a row for each figure of the timeline with its confidence interval, verdict and
// meaning in words; the sheet `Answer` follows. For kTraceLens it is the public tool's dashboard.
// `timeline` and `collective` are the books of timeline_comparison and collective_comparison.
model::Book final_report(const Sides& sides,
                         const model::Book& timeline,
                         const model::Book& collective,
                         const Answer& answer);

// Returns the answer in words, and the part of the dashboard that fits a terminal.
model::Table terminal_summary(const model::Table& dashboard,
                              const Answer& answer,
                              const Sides& sides);

}  // namespace assay::trace
