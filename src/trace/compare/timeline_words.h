// Sentences about the changes of a GPU timeline.
#pragma once

#include <string>
#include <vector>

#include "trace/compare/configuration.h"
#include "trace/compare/timeline_comparison.h"
#include "trace/compare/timeline_samples.h"

namespace assay::trace {

// The change of one timeline row; for total_time, which setting is faster.
std::string in_words(const TimelineChange& change, Basis basis, const Sides& sides);

// Whether total_time's change is more than noise, with its interval.
std::string is_it_real(const Change& total_time, Basis basis, double confidence);

// The parts that add up to total_time, the largest change first.
std::string parts_in_words(const std::vector<TimelineChange>& changes, Basis basis);

// How many ranks see total_time better, worse, …
std::string ranks_in_words(const TimelinePair& pair, double confidence);

// "" when the steps' windows hold all of the time, or there are no steps.
std::string coverage_in_words(const Sides& sides);

}  // namespace assay::trace
