// Assembles the rings and trees of a communicator from what each rank says about itself.
#pragma once

#include <cstdint>
#include <vector>

#include "model/job.h"

namespace assay::goal {

// Sets the links of one rank, which must be a rank of the communicator; the communicator grows
// channels as needed. Neighbours that are no ranks of the communicator count as none.
void set_links(model::Communicator& communicator,
               std::uint32_t rank,
               const std::vector<model::ChannelLinks>& channels);

// Completes the links of ranks from those of their neighbours: a rank that names another one as its
// next is the previous rank of that one. Returns how many ranks still lack a ring neighbour in some
// channel.
std::uint32_t complete_links(model::Communicator& communicator);

}  // namespace assay::goal
