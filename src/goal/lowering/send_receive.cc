// Send and Recv: a channel's part goes to its peer chunk by chunk. Data that a rank sends to itself
// are copied. A block has some of its threads for what it sends, and others for what it receives.
#include "goal/lowering.h"

namespace assay::goal {
namespace {

void lower_send(const ChannelTask& task, Primitives& primitives) {
  if (task.peer == task.rank) {
    primitives.self_copy(task.count);
    return;
  }
  primitives.lane(0, true);
  for_each_chunk(task, [&](std::uint64_t count) { primitives.send(task.peer, count); });
}

void lower_recv(const ChannelTask& task, Primitives& primitives) {
  if (task.peer == task.rank) return;
  primitives.lane(0, true);
  for_each_chunk(task, [&](std::uint64_t count) { primitives.recv(task.peer, count); });
}

const LoweringSpec kSend{.name = "send",
                         .function = model::NcclFunction::kSend,
                         .algorithm = model::NcclAlgorithm::kNone,
                         .lower = lower_send};
ASSAY_REGISTER(LoweringSpec, kSend);

const LoweringSpec kRecv{.name = "recv",
                         .function = model::NcclFunction::kRecv,
                         .algorithm = model::NcclAlgorithm::kNone,
                         .lower = lower_recv};
ASSAY_REGISTER(LoweringSpec, kRecv);

}  // namespace
}  // namespace assay::goal
