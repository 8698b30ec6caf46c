// Circles of dependencies within a rank.
#pragma once

#include <cstdint>
#include <vector>

#include "goal/findings.h"
#include "model/schedule.h"

namespace assay::goal {

// One circle, each operation waiting for the one before it and the first for the last; empty when
// there is none.
std::vector<std::uint32_t> find_cycle(const model::RankView& rank);

void check_cycles(const model::Schedule& schedule, Findings& findings);

}  // namespace assay::goal
