// The order in which the runs of a sweep were really made. A run that is made again after it failed
// is later than its place in the plan says.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "sweep/run_record.h"

namespace assay::sweep {

using MadeOrder = std::map<std::string, std::map<int, int>>;  // by setting and repeat, from 1

// Returns the place of each run in the order of their starts; nothing where a start is unknown.
// Older records have whole seconds: the planned places order runs of one second.
MadeOrder made_order(std::span<const RunRecord> records);

// Returns the session of each run, from 1: one ends where nothing ran for longer than the longest
// good run, and than three median pauses between runs. Nothing where a start, or how long runs
// took, is unknown.
MadeOrder sessions(std::span<const RunRecord> records);

// Returns a sentence without a full stop for each setting of which all good runs were made before,
// or after, all those of the reference; where both have two or more.
std::vector<std::string> settings_apart(std::span<const RunRecord> records,
                                        const std::string& reference);

}  // namespace assay::sweep
