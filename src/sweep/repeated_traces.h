// Finds runs whose traces are the same files: the command then copied, or never replaced, old ones.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sweep/run_record.h"

namespace assay::sweep {

// Returns a sentence without a full stop for each trace, byte by byte the same, that successful
// runs share: "3 runs have the same trace (a-x repeat 1, …): …". Only files of equal size are read.
std::vector<std::string> repeated_traces(std::span<const RunRecord> records);

}  // namespace assay::sweep
