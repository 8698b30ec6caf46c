// Charts of a search.
#pragma once

#include <string>

#include "plan/search/search.h"
#include "report/curves.h"
#include "report/page.h"

namespace assay::plan {

// Throughput over speed: the frontier behind, each worker of it with its error bars, and the best
// within the limits. Precondition: the search has a candidate.
report::CurveFigure frontier_figure(const SearchResult& result,
                                    const Picks& picks,
                                    const std::string& subject);

// Whether limits count as kept where the search takes them to be (Candidate::meets), where the
// prediction keeps them, or its whole error bar.
enum class Kept : std::uint8_t { kBySearch, kByPrediction, kByErrorBar };

// The most tokens per second and GPU at each pair of limits.
report::MapChart limits_map(const SearchResult& result, const SearchRequest& request, Kept kept);

// The time of a mean step of the picks, and of the frontier's ends, by what it is spent on.
report::CompositionChart bounds_chart(const SearchResult& result, const Picks& picks);

}  // namespace assay::plan
