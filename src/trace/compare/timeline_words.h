// Sentences about the changes of a GPU timeline.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trace/compare/configuration.h"
#include "trace/compare/timeline_comparison.h"
#include "trace/compare/timeline_samples.h"

namespace assay::trace {

// Returns "20.4 % slower", or the difference where there is no percentage.
std::string speed_in_words(const Change& change);

// Returns "3.31 % faster than a" or "as fast as a".
std::string speed_against(const std::string& baseline, const Change& change);

// Returns "95 %: 1.88 to 3.31 %; 3 runs each".
std::string certainty_in_words(const Change& change, Basis basis, const Criterion& criterion);

// Says which setting is faster.
std::string headline_in_words(const TimelineChange& headline, Basis basis, const Sides& sides);

// Describes the change of any row.
std::string in_words(const TimelineChange& change, Basis basis, const Criterion& criterion);

// Says whether the headline's change is more than noise, with its interval and what that covers.
std::string is_it_real(const TimelineChange& headline,
                       const TimelinePair& pair,
                       const Sides& sides);

// Says which setting to use, or what to measure next.
std::string next_in_words(const TimelineChange& headline, Basis basis, const Sides& sides);

// Describes the parts that add up to a step, the largest change first. Those without a change that
// has digits are left out.
std::string parts_in_words(const std::vector<TimelineChange>& changes, Basis basis);

// Says how many ranks see this type better, worse, and so on.
std::string ranks_in_words(const TimelinePair& pair,
                           const std::string& type,
                           const Criterion& criterion);

// Describes the time from the start of the first step to the end of the last, as in gpu_timeline;
// empty when a side has no timeline. It is compared where as many steps of a run count on both
// sides.
std::string whole_window_in_words(const Sides& sides,
                                  std::size_t baseline_steps,
                                  std::size_t test_steps);

}  // namespace assay::trace
