#include "goal/lowering/switch.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/check.h"

namespace assay::goal {

SwitchPlace::SwitchPlace(const ChannelTask& task)
    : nodes_(*task.nodes),
      node_(task.nodes->node_of[static_cast<std::size_t>(task.rank)]),
      place_(task.nodes->place_of[static_cast<std::size_t>(task.rank)]),
      num_heads_(task.nodes->num_heads()) {}

std::int32_t SwitchPlace::node_size() const {
  return static_cast<std::int32_t>(nodes_.ranks[static_cast<std::size_t>(node_)].size());
}

std::int32_t SwitchPlace::num_nodes() const {
  return static_cast<std::int32_t>(nodes_.ranks.size());
}

std::int32_t SwitchPlace::local(std::int32_t place) const {
  return nodes_.ranks[static_cast<std::size_t>(node_)][static_cast<std::size_t>(place)];
}

std::int32_t SwitchPlace::on_rail(std::int32_t node) const {
  if (node < 0) return -1;
  return nodes_.ranks[static_cast<std::size_t>(node)][static_cast<std::size_t>(place_)];
}

void SwitchPlace::receive_from_others(std::uint64_t count,
                                      Work work,
                                      Primitives& primitives) const {
  for_places(
      node_size(), [&](std::int32_t) { return count; },
      [&](Peers peers, std::uint64_t same) { primitives.add(peers, {}, work, same); });
}

void SwitchPlace::send_to_others(std::uint64_t count, Primitives& primitives) const {
  for_places(
      node_size(), [&](std::int32_t) { return count; },
      [&](Peers peers, std::uint64_t same) { primitives.add({}, peers, Work::kCopy, same); });
}

namespace {

std::uint64_t scaled(std::uint64_t count, std::int32_t times, std::int32_t among) {
  if (among <= 0) return 0;
  const auto divisor = static_cast<std::uint64_t>(among);
  return (count * static_cast<std::uint64_t>(times) + divisor - 1) / divisor;
}

}  // namespace

std::uint64_t whole_part(std::uint64_t count, std::int32_t /*node_size*/) {
  return count;
}

std::uint64_t switched_all_reduce(std::uint64_t count, std::int32_t node_size) {
  return scaled(count, node_size + 1, 2 * (node_size - 1));
}

std::uint64_t switched_one_way(std::uint64_t count, std::int32_t node_size) {
  return scaled(count, node_size, node_size - 1);
}

namespace {

// Returns the rounds after which everybody has been heard.
int rounds_among(std::int32_t num_nodes) {
  int rounds = 0;
  for (std::int32_t heard = 1; heard < num_nodes; heard *= 2)
    ++rounds;
  return rounds;
}

}  // namespace

Rounds::Rounds(const SwitchPlace& place)
    : place_(place), number_(rounds_among(place.num_nodes())) {}

void Rounds::stage(int i, std::uint64_t count, Work work, Primitives& primitives) const {
  if (number_ == 0) return;
  ASSAY_CHECK(i >= 0 && i <= number_, "rounds have one stage more than there are");
  const std::int32_t from = i == 0 ? -1 : away(-(1 << (i - 1)));
  const std::int32_t to = i == number_ ? -1 : away(1 << i);
  primitives.add({&from, 1}, {&to, 1}, i == 0 ? Work::kCopy : work, share(count));
}

std::uint64_t HeadParts::part(std::uint64_t loop, std::int32_t head) const {
  const std::uint64_t rest = count - loop * heads * chunk;
  std::uint64_t size = chunk;
  if (rest < heads * chunk && grain > 0) {
    size = ((rest + heads - 1) / heads + grain - 1) / grain * grain;
  }
  const std::uint64_t begin = static_cast<std::uint64_t>(head) * size;
  return begin < rest ? std::min(size, rest - begin) : 0;
}

void Rounds::gather_stage(int i, std::uint64_t count, Primitives& primitives) const {
  if (number_ == 0) return;
  if (i > 0) primitives.recv(away(1 << (i - 1)), parts_of_round(i - 1) * count);
  if (i < number_) primitives.send(away(-(1 << i)), parts_of_round(i) * count);
}

void Rounds::scatter_stage(int i, std::uint64_t count, Primitives& primitives) const {
  if (number_ == 0) return;
  const int round = number_ - 1 - i;
  if (i > 0) {
    primitives.recv_reduce_copy(away(-(1 << (round + 1))), parts_of_round(round + 1) * count);
  }
  if (i < number_) primitives.send(away(1 << round), parts_of_round(round) * count);
}

namespace {

class AllReduceThroughHeads {
 public:
  AllReduceThroughHeads(const ChannelTask& task,
                        std::uint64_t last_grain,
                        MessageSize size,
                        Primitives& primitives)
      : place_(task),
        rounds_(place_),
        parts_{task.count, task.chunk_count, static_cast<std::uint64_t>(place_.num_heads()),
               last_grain},
        size_(size),
        primitives_(primitives) {}

  void run() {
    const int last = rounds_.number();
    for_each_stage(parts_.loops(), last + 1, [&](std::uint64_t loop, int stage) {
      if (stage == 0) scatter(loop);
      if (place_.is_head()) reduce(loop, stage);
      if (stage == last) gather(loop);
    });
  }

 private:
  std::uint64_t message(std::uint64_t loop, std::int32_t head) const {
    return size_(parts_.part(loop, head), place_.node_size());
  }

  void scatter(std::uint64_t loop) {
    primitives_.lane(kScatterLane);
    place_.for_heads(
        [&](std::int32_t head) { return message(loop, head); },
        [&](Peers peers, std::uint64_t count) { primitives_.add({}, peers, Work::kCopy, count); });
  }

  void reduce(std::uint64_t loop, int stage) {
    primitives_.lane(kHeadLane);
    const std::uint64_t count = message(loop, place_.place());
    if (stage == 0) place_.receive_from_others(count, Work::kReduce, primitives_);
    rounds_.stage(stage, parts_.part(loop, place_.place()), Work::kReduce, primitives_);
    if (stage == rounds_.number()) place_.send_to_others(count, primitives_);
  }

  void gather(std::uint64_t loop) {
    primitives_.lane(kGatherLane);
    place_.for_heads(
        [&](std::int32_t head) { return message(loop, head); },
        [&](Peers peers, std::uint64_t count) { primitives_.add(peers, {}, Work::kCopy, count); });
  }

  const SwitchPlace place_;
  const Rounds rounds_;
  const HeadParts parts_;
  const MessageSize size_;
  Primitives& primitives_;
};

// Keeps the layout that is used where nodes have different sizes.
class EvenNodes {
 public:
  explicit EvenNodes(const ChannelTask& task) : task_(task) {
    const auto& nodes = task.nodes->ranks;
    const bool even = std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) {
      return node.size() == nodes.front().size();
    });
    if (even) return;
    one_ = make_layout(std::vector<std::string>(static_cast<std::size_t>(task.num_ranks)));
    task_.nodes = &one_;
  }

  EvenNodes(const EvenNodes&) = delete;
  EvenNodes& operator=(const EvenNodes&) = delete;
  ~EvenNodes() = default;

  [[nodiscard]] const ChannelTask& task() const { return task_; }

 private:
  ChannelTask task_;
  NodeLayout one_;
};

std::uint64_t chunks(const ChannelTask& task) {
  return (task.count + task.chunk_count - 1) / task.chunk_count;
}

std::uint64_t chunk(const ChannelTask& task, std::uint64_t loop) {
  return std::min(task.chunk_count, task.count - loop * task.chunk_count);
}

}  // namespace

void all_reduce_through_heads(const ChannelTask& task,
                              std::uint64_t last_grain,
                              MessageSize size,
                              Primitives& primitives) {
  AllReduceThroughHeads(task, last_grain, size, primitives).run();
}

void all_gather_through_heads(const ChannelTask& task, MessageSize size, Primitives& primitives) {
  const EvenNodes nodes(task);
  const SwitchPlace place(nodes.task());
  const Rounds rounds(place);
  const auto num_nodes = static_cast<std::uint64_t>(place.num_nodes());
  for_each_stage(chunks(task), rounds.number() + 1, [&](std::uint64_t loop, int stage) {
    const std::uint64_t message = size(num_nodes * chunk(task, loop), place.node_size());
    primitives.lane(kHeadLane);
    rounds.gather_stage(stage, chunk(task, loop), primitives);
    if (stage < rounds.number()) return;
    place.send_to_others(message, primitives);
    primitives.lane(kGatherLane);
    place.receive_from_others(message, Work::kCopy, primitives);
  });
}

void reduce_scatter_through_heads(const ChannelTask& task,
                                  MessageSize size,
                                  Primitives& primitives) {
  const EvenNodes nodes(task);
  const SwitchPlace place(nodes.task());
  const Rounds rounds(place);
  const auto num_nodes = static_cast<std::uint64_t>(place.num_nodes());
  for_each_stage(chunks(task), rounds.number() + 1, [&](std::uint64_t loop, int stage) {
    if (stage == 0) {
      const std::uint64_t message = size(num_nodes * chunk(task, loop), place.node_size());
      primitives.lane(kScatterLane);
      place.send_to_others(message, primitives);
      primitives.lane(kHeadLane);
      place.receive_from_others(message, Work::kReduceCopy, primitives);
    }
    primitives.lane(kHeadLane);
    rounds.scatter_stage(stage, chunk(task, loop), primitives);
  });
}

}  // namespace assay::goal
