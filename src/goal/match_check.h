// Sends and receives, one to one.
#pragma once

#include <cstdint>

#include "goal/findings.h"
#include "model/schedule.h"

namespace assay::goal {

// How many messages have their send and their receive. Takes 8 bytes a send, and a table of the
// sends to one rank at a time.
std::uint64_t check_matches(const model::Schedule& schedule, Findings& findings);

}  // namespace assay::goal
