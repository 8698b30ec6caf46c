// Which disaggregated candidates the closed form's error cannot tell from the best.
#pragma once

#include <vector>

#include "plan/search/search.h"

namespace assay::plan {

// Those that no other beats by more than the closed form's error in tokens on the cluster, without
// being slower or having a later first token. Of several that differ by less than a step of speed
// and of TTFT, the best one stands for them.
std::vector<Candidate> near_frontier(const std::vector<Candidate>& candidates);

}  // namespace assay::plan
