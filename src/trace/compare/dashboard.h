// Summary_Dashboard, the first sheet of the final report.
#pragma once

#include "model/table.h"
#include "trace/compare/answer.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

model::Table dashboard(const Sides& sides, const Answer& answer);

// The public tool's, from its Summary_Comparison; without rows when that is null.
model::Table tracelens_dashboard(const Sides& sides, const model::Table* summary_comparison);

}  // namespace assay::trace
