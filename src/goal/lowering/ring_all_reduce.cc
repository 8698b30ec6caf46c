// Ring AllReduce: each loop moves one chunk per rank around the ring twice, first to sum, then to
// spread the sums.
#include "goal/lowering.h"

namespace assay::goal {
namespace {

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

// The chunks of the last loop are equal parts of the rest. NCCL 2.28 computes them on the device,
// aligned to 16 bytes; older versions log them.
std::uint64_t last_chunk(const ChannelTask& task, std::uint64_t rest) {
  if (task.last_chunk_count > 0) return task.last_chunk_count;
  const std::uint64_t grain = std::max<std::uint64_t>(16 / task.element_bytes, 1);
  const auto num_ranks = static_cast<std::uint64_t>(task.num_ranks);
  return divide_up(divide_up(rest, num_ranks), grain) * grain;
}

void lower_ring_all_reduce(const ChannelTask& task, Primitives& primitives) {
  const auto n = static_cast<std::uint64_t>(task.num_ranks);
  const auto index = static_cast<std::uint64_t>(task.ring_index);
  std::uint64_t chunk = task.chunk_count;
  for (std::uint64_t offset = 0; offset < task.count; offset += n * chunk) {
    const std::uint64_t rest = task.count - offset;
    if (rest < n * chunk) chunk = last_chunk(task, rest);
    // Elements of the chunk that belongs to the rank `back` places before this one.
    const auto count = [&](std::uint64_t back) {
      const std::uint64_t begin = (index + 2 * n - back) % n * chunk;
      return begin < rest ? std::min(chunk, rest - begin) : 0;
    };
    primitives.send(task.ring_next, count(1));
    for (std::uint64_t j = 2; j < n; ++j) {
      primitives.recv_reduce_send(task.ring_previous, task.ring_next, count(j));
    }
    primitives.recv_reduce_copy_send(task.ring_previous, task.ring_next, count(0));
    for (std::uint64_t j = 1; j + 1 < n; ++j) {
      primitives.recv_copy_send(task.ring_previous, task.ring_next, count(j));
    }
    primitives.recv(task.ring_previous, count(n - 1));
  }
}

const LoweringSpec kRingAllReduce{.name = "ring_all_reduce",
                                  .function = model::NcclFunction::kAllReduce,
                                  .algorithm = model::NcclAlgorithm::kRing,
                                  .lower = lower_ring_all_reduce};
ASSAY_REGISTER(LoweringSpec, kRingAllReduce);

}  // namespace
}  // namespace assay::goal
