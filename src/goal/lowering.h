// Lowers an algorithm of NCCL to the steps of one rank in one channel.
//
// To add an algorithm, write src/goal/lowering/<algorithm>.cc in the words of NCCL's device code,
//
//   void lower(const ChannelTask& task, Primitives& primitives) {
//     for_each_chunk(task, [&](std::uint64_t count) {
//       if (task.rank == task.root) primitives.send(task.ring_next, count);
//       …
//     });
//   }
//   const LoweringSpec kRingBroadcast{.name = "ring_broadcast",
//                                     .function = NcclFunction::kBroadcast,
//                                     .algorithm = NcclAlgorithm::kRing, .lower = lower};
//   ASSAY_REGISTER(LoweringSpec, kRingBroadcast);
//
// goal/expand.h makes slices, protocols, costs, tags and dependencies from the steps. A rank must
// receive what another one sends to it in a channel in the same order and with the same counts; a
// test runs every registered lowering on all ranks to check that.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/registry.h"
#include "goal/topology.h"
#include "model/collective.h"

namespace assay::goal {

// The work of a thread block on the data of a step. kSelfCopy is what a rank sends to itself.
enum class Work : std::uint8_t { kCopy, kReduce, kReduceCopy, kSelfCopy };
inline constexpr std::size_t kNumWorks = 4;

inline constexpr std::size_t kMostPeers = 7;  // the other GPUs of a node of eight
inline constexpr std::size_t kMostLanes = 4;

// A step receives from all of `from`, works on the data, and sends the result to all of `to`.
struct Step {
  std::uint64_t count = 0;  // elements
  Work work = Work::kCopy;
  // The steps of a lane follow one another; the lanes of a channel run side by side.
  std::uint8_t lane = 0;
  bool two_way = false;  // it has a part of the block's threads, another lane has the others
  bool whole = false;    // its messages are not cut into slices
  bool is_free = false;  // it takes no time: another step has its work
  std::uint8_t num_from = 0;
  std::uint8_t num_to = 0;
  std::array<std::int32_t, kMostPeers> from = {};  // ranks of the communicator
  std::array<std::int32_t, kMostPeers> to = {};
};

using Peers = std::span<const std::int32_t>;

// Records the primitives of NCCL's device code as steps. Ignores calls with a count of 0 and peers
// of -1.
class Primitives {
 public:
  void lane(std::uint8_t lane, bool two_way = false) {
    lane_ = lane;
    two_way_ = two_way;
  }

  void send(std::int32_t to, std::uint64_t count) { add({}, {&to, 1}, Work::kCopy, count); }

  void recv(std::int32_t from, std::uint64_t count) { add({&from, 1}, {}, Work::kCopy, count); }

  void self_copy(std::uint64_t count) { add({}, {}, Work::kSelfCopy, count); }

  void recv_copy_send(std::int32_t from, std::int32_t to, std::uint64_t count) {
    add({&from, 1}, {&to, 1}, Work::kCopy, count);
  }

  void recv_reduce_send(std::int32_t from, std::int32_t to, std::uint64_t count) {
    add({&from, 1}, {&to, 1}, Work::kReduce, count);
  }

  void recv_reduce_copy(std::int32_t from, std::uint64_t count) {
    add({&from, 1}, {}, Work::kReduceCopy, count);
  }

  void recv_reduce_copy_send(std::int32_t from, std::int32_t to, std::uint64_t count) {
    add({&from, 1}, {&to, 1}, Work::kReduceCopy, count);
  }

  // Adds a step with several peers, as in trees.
  void add(Peers from, Peers to, Work work, std::uint64_t count);

  void clear() {
    steps_.clear();
    lane(0);
  }

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

  void replace(std::vector<Step> steps) { steps_ = std::move(steps); }

 private:
  std::vector<Step> steps_;
  std::uint8_t lane_ = 0;
  bool two_way_ = false;
};

// The part of an operation that one rank has in one channel.
struct ChannelTask {
  model::NcclProtocol protocol = model::NcclProtocol::kSimple;
  std::int32_t rank = 0;
  std::int32_t num_ranks = 1;
  std::int32_t root = 0;
  std::int32_t peer = 0;  // the other rank of a send or receive
  std::uint32_t channel = 0;
  const NodeLayout* nodes = nullptr;
  std::int32_t ring_index = 0;
  std::int32_t ring_previous = 0;
  std::int32_t ring_next = 0;
  std::int32_t tree_up = -1;
  std::array<std::int32_t, 3> tree_down = {-1, -1, -1};
  std::uint32_t element_bytes = 1;
  std::uint64_t count = 0;        // elements in this channel
  std::uint64_t chunk_count = 0;  // elements of a chunk
  // Chunk of the last, incomplete loop of a ring; 0 to apply NCCL's rule.
  std::uint64_t last_chunk_count = 0;
};

struct LoweringSpec {
  const char* name;
  model::NcclFunction function;
  model::NcclAlgorithm algorithm;  // kNone for any algorithm
  void (*lower)(const ChannelTask& task, Primitives& primitives);
};

// Returns null when there is none.
const LoweringSpec* find_lowering(model::NcclFunction function, model::NcclAlgorithm algorithm);

// Calls body(count) for the chunks of a channel's part, one after another.
template <class Body>
void for_each_chunk(const ChannelTask& task, Body body) {
  for (std::uint64_t offset = 0; offset < task.count; offset += task.chunk_count) {
    body(std::min(task.chunk_count, task.count - offset));
  }
}

}  // namespace assay::goal
