// Finds runs whose traces are the same files: the command then copied, or never replaced, old ones.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sweep/run_record.h"

namespace assay::sweep {

// Returns the traces of a run that reports read, one a rank. Other files beside them (a README, a
// mark that a trace is complete) are the same in every run.
using TracesOfRun =
    std::function<std::vector<std::filesystem::path>(const std::filesystem::path& run)>;

// Returns a sentence without a full stop for each trace, byte by byte the same, that successful
// runs share: "3 runs have the same trace (a-x repeat 1, …): …". Only files of equal size are read.
std::vector<std::string> repeated_traces(std::span<const RunRecord> records,
                                         const TracesOfRun& traces_of);

}  // namespace assay::sweep
