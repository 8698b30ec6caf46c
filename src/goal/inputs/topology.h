// The rings and trees of a communicator, put together from what each rank says about itself.
#pragma once

#include <cstdint>
#include <vector>

#include "model/job.h"

namespace assay::goal {

// Sets one rank's own links; the communicator grows channels as needed. The rank must be one of
// the communicator's.
void set_links(model::Communicator& communicator,
               std::uint32_t rank,
               const std::vector<model::ChannelLinks>& channels);

// Gives ranks without links those that follow from the others' (who calls it next is its
// previous). Returns how many ranks still lack a ring neighbour in some channel.
std::uint32_t complete_links(model::Communicator& communicator);

}  // namespace assay::goal
