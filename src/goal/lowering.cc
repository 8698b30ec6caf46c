#include "goal/lowering.h"

#include "core/check.h"

namespace assay::goal {
namespace {

std::uint8_t copy_peers(Peers peers, std::array<std::int32_t, kMostPeers>& into) {
  std::uint8_t count = 0;
  for (const std::int32_t peer : peers) {
    if (peer < 0) continue;
    ASSAY_CHECK(count < kMostPeers, "a step has too many peers");
    into[count++] = peer;
  }
  return count;
}

}  // namespace

void Primitives::add(Peers from, Peers to, Work work, std::uint64_t count) {
  if (count == 0) return;
  Step& step = steps_.emplace_back();
  step.count = count;
  step.work = work;
  step.lane = lane_;
  step.two_way = two_way_;
  step.num_from = copy_peers(from, step.from);
  step.num_to = copy_peers(to, step.to);
}

const LoweringSpec* find_lowering(model::NcclFunction function, model::NcclAlgorithm algorithm) {
  static const std::vector<const LoweringSpec*> specs = core::Registry<LoweringSpec>::all();
  for (const LoweringSpec* spec : specs) {
    const bool any = spec->algorithm == model::NcclAlgorithm::kNone;
    if (spec->function == function && (any || spec->algorithm == algorithm)) return spec;
  }
  return nullptr;
}

}  // namespace assay::goal
