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

// By NCCL's cost model (model/nccl_choice.h) on nodes of Hopper GPUs with NVLink and a network card
// of 400 Gb/s for each, without multicast.
CollectiveChoice choose_collective(const CollectiveShape& shape);

// The share of a GPU's multiprocessors that its channels hold while it runs.
double held_share(const CollectiveShape& shape);

// What a message takes on the links of H200 and of networks of 400 Gb/s, for the times that a made
// job carries until it is simulated.
std::int64_t estimated_ns(const CollectiveShape& shape);

}  // namespace assay::goal
