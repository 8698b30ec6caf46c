// Send and Recv: a channel's part goes to its peer chunk by chunk. Data that a rank sends to itself
// are copied.
#include "goal/lowering.h"

namespace assay::goal {
namespace {

void lower_send(const ChannelTask& task, Primitives& primitives) {
  if (task.peer == task.rank) {
    primitives.copy(task.count);
    return;
  }
  for_each_chunk(task, [&](std::uint64_t count) { primitives.send(task.peer, count); });
}

void lower_recv(const ChannelTask& task, Primitives& primitives) {
  if (task.peer == task.rank) return;
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
