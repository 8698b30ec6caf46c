// Compares two configurations: all workbooks of the comparison, and the answer in words.
#pragma once

#include "core/result.h"
#include "model/table.h"
#include "trace/compare/answer.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

struct Comparison {
  model::Book timeline_combined;      // gpu_timeline_combined
  model::Book timeline_comparison;    // gpu_timeline_comparison
  model::Book collective_combined;    // collective_combined
  model::Book collective_comparison;  // collective_comparison
  model::Book final_report;           // final_analysis_report
  Answer answer;
};

// Fails for labels that are empty, alike, or the prefix of a comparison column, for a rank that is
// given twice, and for a side with neither a timeline nor a collective.
core::Status check_sides(const Sides& sides);

core::Result<Comparison> compare(const Sides& sides);

}  // namespace assay::trace
