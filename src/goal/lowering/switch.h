// What NVLS and CollNet have in common: switches that reduce and multicast, in a schedule that
// knows ranks only.
//
// Within a node, every head (one rank for each part of the data) gets its part summed by the
// NVSwitch and writes the sum once, for the switch to spread. Here a head gets a message from each
// other rank of its node and sends one to each. For the time to be that of the hardware, these
// messages are as large as makes every GPU's links carry what they carry there: with n ranks in a
// node, an AllReduce takes n parts out of each GPU to be summed and one more to be spread, and as
// many in, so a message of the 2 (n - 1) has (n + 1) / (2 (n - 1)) of a part. AllGather and
// ReduceScatter keep one direction busy with n parts, and have n - 1 messages of n / (n - 1) parts.
// The copies between a program's buffers and those of the switch are part of the slices' work.
//
// Between nodes, a head gives a switch of the network its part once and gets it once. Here the
// heads of a rail exchange in rounds: in round i with those 2^i nodes away, which after log2(nodes)
// rounds have all been heard. The rounds share the part's bytes, so that each network card carries
// what it carries there; the latency is that of the rounds.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "goal/lowering.h"

namespace assay::goal {

inline constexpr std::uint8_t kScatterLane = 0;
inline constexpr std::uint8_t kHeadLane = 1;
inline constexpr std::uint8_t kGatherLane = 2;
inline constexpr std::uint8_t kSpreadLane = 3;  // of heads in a tree: what comes down

// The place of a rank among switches.
class SwitchPlace {
 public:
  explicit SwitchPlace(const ChannelTask& task);

  [[nodiscard]] std::int32_t node_size() const;
  [[nodiscard]] std::int32_t num_nodes() const;

  [[nodiscard]] std::int32_t node() const { return node_; }

  [[nodiscard]] std::int32_t place() const { return place_; }  // in the node

  [[nodiscard]] std::int32_t num_heads() const { return num_heads_; }

  [[nodiscard]] bool is_head() const { return place_ < num_heads_; }

  // The rank at a place of this node, and the head of this rank's rail in another node.
  [[nodiscard]] std::int32_t local(std::int32_t place) const;
  [[nodiscard]] std::int32_t on_rail(std::int32_t node) const;

  // Calls body(peers, count) for the other ranks at the first `places` of the node, as many at a
  // time as a step may have and have the same count; passes over counts of 0.
  template <class CountOf, class Body>
  void for_places(std::int32_t places, CountOf count_of, Body body) const {
    std::array<std::int32_t, kMostPeers> peers = {};
    std::size_t number = 0;
    std::uint64_t count = 0;
    const auto flush = [&] {
      if (number > 0 && count > 0) body(Peers(peers).first(number), count);
      number = 0;
    };
    for (std::int32_t i = 0; i < places; ++i) {
      if (i == place_) continue;
      if (number == kMostPeers || count_of(i) != count) flush();
      count = count_of(i);
      peers.at(number++) = local(i);
    }
    flush();
  }

  template <class CountOf, class Body>
  void for_heads(CountOf count_of, Body body) const {
    for_places(num_heads_, count_of, body);
  }

  // Receives `count` elements from each other rank of the node, or sends them to each.
  void receive_from_others(std::uint64_t count, Work work, Primitives& primitives) const;
  void send_to_others(std::uint64_t count, Primitives& primitives) const;

 private:
  const NodeLayout& nodes_;
  std::int32_t node_ = 0;
  std::int32_t place_ = 0;
  std::int32_t num_heads_ = 1;
};

// The rounds in which heads exchange what a switch of the network would reduce.
class Rounds {
 public:
  explicit Rounds(const SwitchPlace& place);

  [[nodiscard]] int number() const { return number_; }

  // Elements of a message, of `count` that are reduced.
  [[nodiscard]] std::uint64_t share(std::uint64_t count) const {
    const auto rounds = static_cast<std::uint64_t>(number_);
    return rounds == 0 ? 0 : (count + rounds - 1) / rounds;
  }

  // Does a part of the exchange of `count` elements: stage 0 sends for the first round, stage i
  // receives for round i - 1 and sends for round i, stage number() receives for the last one.
  void stage(int i, std::uint64_t count, Work work, Primitives& primitives) const;

  // The same for parts that are gathered, of `count` elements from each node, and, backwards, for
  // those that are scattered. Round i passes on as many parts as have come, or as are missing.
  void gather_stage(int i, std::uint64_t count, Primitives& primitives) const;
  void scatter_stage(int i, std::uint64_t count, Primitives& primitives) const;

 private:
  [[nodiscard]] std::uint64_t parts_of_round(int i) const {
    return static_cast<std::uint64_t>(std::min(1 << i, place_.num_nodes() - (1 << i)));
  }

  [[nodiscard]] std::int32_t away(std::int32_t distance) const {
    const std::int32_t n = place_.num_nodes();
    return place_.on_rail((place_.node() + n + distance) % n);
  }

  const SwitchPlace& place_;
  int number_;
};

// The parts of the heads in the loops over a channel's data, of an AllReduce.
struct HeadParts {
  std::uint64_t count = 0;  // of the channel
  std::uint64_t chunk = 0;  // of a head
  std::uint64_t heads = 1;
  std::uint64_t grain =
      1;  // what chunks of the last loop are a multiple of; 0: they are not smaller

  [[nodiscard]] std::uint64_t loops() const {
    return (count + heads * chunk - 1) / (heads * chunk);
  }

  [[nodiscard]] std::uint64_t part(std::uint64_t loop, std::int32_t head) const;
};

// The elements of a message within a node, for `count` elements of a head's part.
using MessageSize = std::uint64_t (*)(std::uint64_t count, std::int32_t node_size);

std::uint64_t whole_part(std::uint64_t count, std::int32_t node_size);
std::uint64_t switched_all_reduce(std::uint64_t count, std::int32_t node_size);
std::uint64_t switched_one_way(std::uint64_t count, std::int32_t node_size);

// The algorithms in which every rank scatters to the heads of its node and gathers from them, and
// the heads of a rail exchange through the network. Nodes of different sizes, for which NCCL has no
// AllGather and ReduceScatter of this kind, are there taken for one node.
void all_reduce_through_heads(const ChannelTask& task,
                              std::uint64_t last_grain,
                              MessageSize size,
                              Primitives& primitives);
void all_gather_through_heads(const ChannelTask& task, MessageSize size, Primitives& primitives);
void reduce_scatter_through_heads(const ChannelTask& task,
                                  MessageSize size,
                                  Primitives& primitives);

// Calls body(loop, stage) so that a stage of a loop comes one loop after the stage before it: what
// a stage waits for has been on its way for a loop.
template <class Body>
void for_each_stage(std::uint64_t loops, int stages, Body body) {
  const auto last = static_cast<std::uint64_t>(stages - 1);
  for (std::uint64_t i = 0; i < loops + last; ++i) {
    for (std::uint64_t stage = 0; stage <= last; ++stage) {
      if (stage <= i && i - stage < loops) body(i - stage, static_cast<int>(stage));
    }
  }
}

}  // namespace assay::goal
