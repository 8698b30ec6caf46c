// The label "pair" tells which ordered pair of the communicator's ranks a send connects, so that a
// simulator's statistics by tag show who talks to whom: source * ranks + destination + 1.
// Collectives have 0 because their messages connect many pairs.
#include "goal/label.h"
#include "model/collective.h"

namespace assay::goal {
namespace {

std::uint64_t pair_of(const LabelInput& input) {
  constexpr std::uint64_t kSendRecv = static_cast<std::uint64_t>(model::NcclFunction::kSendRecv);
  if (input.operation != kSendRecv) return 0;
  return input.source * input.ranks + input.destination + 1;
}

const LabelSpec kPair{.name = "pair",
                      .description = "the ordered pair of ranks of a send; 0 for collectives",
                      .label = pair_of};
ASSAY_REGISTER(LabelSpec, kPair);

}  // namespace
}  // namespace assay::goal
