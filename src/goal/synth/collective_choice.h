// The algorithm, the protocol and the number of channels that NCCL takes for a collective, where no
// recording tells them.
#pragma once

#include <cstdint>

#include "model/collective.h"

namespace assay::goal {

struct CollectiveShape {
  model::NcclFunction function = model::NcclFunction::kAllReduce;
  std::uint64_t bytes = 0;  // as model::Operation::bytes
  std::uint32_t ranks = 2;
  std::uint32_t nodes = 1;
};

struct CollectiveChoice {
  model::NcclAlgorithm algorithm = model::NcclAlgorithm::kRing;
  model::NcclProtocol protocol = model::NcclProtocol::kSimple;
  std::uint32_t channels = 1;
};

// A rule of thumb in place of NCCL's cost model: rings; trees for an all-reduce over nodes up to
// 4 MiB for each of them; LL and LL128 for what takes less than 2 and 32 KiB a rank and channel.
CollectiveChoice choose_collective(const CollectiveShape& shape);

// The share of a GPU's multiprocessors that its channels hold while it runs.
double held_share(const CollectiveShape& shape);

// What a message takes on the links of H200 and of networks of 400 Gb/s, for the times that a made
// job carries until it is simulated.
std::int64_t estimated_ns(const CollectiveShape& shape);

}  // namespace assay::goal
