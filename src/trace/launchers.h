// Which operator launched which GPU work.
#pragma once

#include <vector>

#include "trace/analysis.h"

namespace assay::trace {

// The node that stands for a launching call in the operator tables: the nearest CPU operator
// above it other than "execute", or the call itself.
NodeId launcher_of(const model::Trace& trace, const CallTree& tree, NodeId call);

// All launchers with counted, non-communication work, in node order. Needs tree, gpu_intervals,
// gpu_work and counted of the analysis.
std::vector<Launcher> find_launchers(const RankAnalysis& rank);

}  // namespace assay::trace
