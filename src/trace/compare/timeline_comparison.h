// gpu_timeline_comparison: the GPU timelines of two configurations and their changes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/change.h"
#include "trace/compare/configuration.h"
#include "trace/compare/timeline_samples.h"

namespace assay::trace {

// The change of one row of a timeline. `percent` columns are shares of the total time.
struct TimelineChange {
  std::string type;
  Change time_ms;
  double baseline_percent = 0;
  double test_percent = 0;
};

// Returns the changes in reading_order().
std::vector<TimelineChange> compare_series(const SeriesByType& baseline,
                                           const SeriesByType& test,
                                           const Criterion& criterion);

// Applies compare_series to the means over ranks. The rows other than the headline and
// the mean of all steps are judged together.
std::vector<TimelineChange> compare_means(const TimelinePair& pair, const Criterion& criterion);

// Returns the change of total_time, which says which setting is better; null when neither side has
// it.
const TimelineChange* headline(const std::vector<TimelineChange>& changes);

// Applies compare_series to each rank of either side. The headlines of the ranks are judged
// together, so are the means of all steps, and so are all other rows.
std::map<int, std::vector<TimelineChange>> compare_ranks(const TimelinePair& pair,
                                                         const Criterion& criterion);

// Makes the sheets Summary_Comparison and Comparison_By_Rank and the combined sheets of
// timeline_summary. Times are means per steady step (over whole traces when a side names no
// steps), each with a confidence interval over steps, or over runs with their extremes, and a
// verdict. For kTraceLens: the public tool's sheets in its order, means over ranks of the whole
// trace, and its thresholds of 1 %.
model::Book timeline_comparison(const Sides& sides);

// Returns verdict_text, with the reason when there are no steps at all.
std::string timeline_verdict(const Change& change, Basis basis);

}  // namespace assay::trace
