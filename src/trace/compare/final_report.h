// final_analysis_report: one workbook that holds the answer, the comparisons and, hidden, what
// they were made from.
#pragma once

#include "model/table.h"
#include "trace/compare/answer.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// Summary_Dashboard is first. By default it has a row a timeline figure with its confidence
// interval, verdict and meaning in words, and the sheet `Answer` follows; for kTraceLens it is
// the public tool's (figures rounded to 2 digits, "Better" above 0, "Worse" from -1 %).
// `timeline` and `collective` are the books of timeline_comparison and collective_comparison.
model::Book final_report(const Sides& sides,
                         const model::Book& timeline,
                         const model::Book& collective,
                         const Answer& answer);

}  // namespace assay::trace
