// Sentences about the changes of a GPU timeline.
#pragma once

#include <string>
#include <vector>

#include "trace/compare/configuration.h"
#include "trace/compare/timeline_comparison.h"
#include "trace/compare/timeline_samples.h"

namespace assay::trace {

// Which setting is faster.
std::string headline_in_words(const TimelineChange& headline, Basis basis, const Sides& sides);

// The change of any row.
std::string in_words(const TimelineChange& change, Basis basis, const Criterion& criterion);

// Whether the headline's change is more than noise, with its interval and what that knows.
std::string is_it_real(const TimelineChange& headline,
                       const TimelinePair& pair,
                       const Sides& sides);

// Which setting to use, or what to measure.
std::string next_in_words(const TimelineChange& headline, Basis basis, const Sides& sides);

// The parts that add up to a step, the largest change first.
std::string parts_in_words(const std::vector<TimelineChange>& changes, Basis basis);

// How many ranks see this type better, worse, …
std::string ranks_in_words(const TimelinePair& pair,
                           const std::string& type,
                           const Criterion& criterion);

// From the start of the first step to the end of the last, as in gpu_timeline; "" when a side has
// no timeline.
std::string whole_window_in_words(const Sides& sides);

}  // namespace assay::trace
