// How many messages each GPU exchanges with whom, known before any is made: what tags are planned
// from.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "goal/steps.h"

namespace assay::goal {

struct PeerMessages {
  std::uint32_t peer = 0;  // GPU
  std::uint32_t sends = 0;
  std::uint32_t receives = 0;
};

// Counts for the exchanges of one GPU. Exchanges of the same shape are counted once.
class MessageCounter {
 public:
  MessageCounter(const Resolved& resolved, std::uint32_t gpu) : resolved_(resolved), gpu_(gpu) {}

  // Valid until the next call. In no particular order, without peers that get and send nothing.
  const std::vector<PeerMessages>& count(const Call& call);

 private:
  void add_channel(const Part& part, std::vector<PeerMessages>& counts);

  const Resolved& resolved_;
  std::uint32_t gpu_;
  Primitives primitives_;
  std::unordered_map<std::uint64_t, std::vector<PeerMessages>> known_;  // by shape and peer
};

}  // namespace assay::goal
