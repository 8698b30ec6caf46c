// Which disaggregated candidates the closed form's error cannot tell from the best.
#pragma once

#include <vector>

#include "plan/search/search.h"

namespace assay::plan {

// Those that no other beats by more than the closed form's error in tokens on the cluster, without
// being slower or having a later first token. Of several that differ by less than a step of speed
// and of TTFT, the best one stands for them. Those whose first token comes much later than
// `ttft_limit_ms` are left out, unless all do.
std::vector<Candidate> near_frontier(const std::vector<Candidate>& candidates,
                                     double ttft_limit_ms);

// Returns those that may keep the request's limits, as near as the closed form tells, of each
// worker that decodes, the one with most tokens first; they point to `candidates`. Workers whose
// best has less than half of the tokens of all are left out.
std::vector<std::vector<const Candidate*>> within_limits(const std::vector<Candidate>& candidates,
                                                         const SearchRequest& request);

}  // namespace assay::plan
