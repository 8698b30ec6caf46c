#include "goal/messages.h"

namespace assay::goal {
namespace {

PeerMessages& entry(std::vector<PeerMessages>& counts, std::uint32_t peer) {
  for (PeerMessages& count : counts) {
    if (count.peer == peer) return count;
  }
  return counts.emplace_back(PeerMessages{peer, 0, 0});
}

}  // namespace

const std::vector<PeerMessages>& MessageCounter::count(const Call& call) {
  const Part part = part_of(resolved_, gpu_, call);
  const std::uint32_t shape = resolved_.exchanges[call.exchange].shape;
  const bool p2p = is_point_to_point(part.operation->function);
  const bool receives = part.operation->function == model::NcclFunction::kRecv;
  const std::uint64_t direction = receives ? 1 : 0;
  const std::uint64_t peer =
      p2p ? static_cast<std::uint64_t>(part.operation->peer) * 2 + direction + 1 : 0;
  const auto [found, is_new] = known_.try_emplace(std::uint64_t{shape} << 32 | peer);
  if (!is_new) return found->second;
  for (const model::ChannelPart& channel : part.shape->cut.parts) {
    lower_channel(part, channel, primitives_);
    add_channel(part, found->second);
  }
  return found->second;
}

void MessageCounter::add_channel(const Part& part, std::vector<PeerMessages>& counts) {
  for (const Step& step : primitives_.steps()) {
    std::uint32_t slices = 0;
    for_each_slice(part.shape->cut, step.count, [&](std::uint64_t) { ++slices; });
    for (std::uint8_t i = 0; i < step.num_to; ++i) {
      entry(counts, part.gpu(step.to[i])).sends += slices;
    }
    for (std::uint8_t i = 0; i < step.num_from; ++i) {
      entry(counts, part.gpu(step.from[i])).receives += slices;
    }
  }
}

}  // namespace assay::goal
