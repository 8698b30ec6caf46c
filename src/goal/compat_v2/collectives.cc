#include "goal/compat_v2/collectives.h"

#include <algorithm>

namespace assay::goal::compat_v2 {
namespace {

using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;

class ChannelWriter {
 public:
  ChannelWriter(const ChannelWork& work, const Peers& peers, GraphWriter& writer)
      : work_(work),
        peers_(peers),
        writer_(writer),
        slicing_(work.slicing),
        element_bytes_(std::max(work.operation.element_bytes, 1U)),
        num_ranks_(work.communicator.gpus.size()) {}

  Ends write() {
    GraphWriter::Fork fork(writer_);
    if (work_.operation.algorithm == NcclAlgorithm::kTree) {
      tree_all_reduce(fork);
      return fork.join();
    }
    from_ = peers_.from(writer_, work_.communicator, work_.neighbours.previous);
    to_ = peers_.to(writer_, work_.communicator, work_.neighbours.next);
    switch (work_.operation.function) {
      case NcclFunction::kAllReduce:
        ring_all_reduce(fork);
        break;
      case NcclFunction::kAllGather:
        ring_all_gather(fork);
        break;
      case NcclFunction::kReduceScatter:
        ring_reduce_scatter(fork);
        break;
      case NcclFunction::kReduce:
        ring_reduce(fork);
        break;
      default:
        ring_broadcast(fork);
        break;
    }
    return fork.join();
  }

 private:
  using Fork = GraphWriter::Fork;

  void step(Fork& fork, const Primitive& primitive, std::uint64_t count) {
    fork.add(writer_.primitive(primitive, count * element_bytes_, slicing_));
  }

  template <class Body>
  void for_each_chunk(Body body) const {
    const std::uint64_t chunk = work_.part.chunk_count;
    for (std::uint64_t offset = 0; offset < work_.part.count; offset += chunk)
      body(std::min(chunk, work_.part.count - offset));
  }

  // Returns the elements of a chunk in a loop with `rest` elements left.
  static std::uint64_t chunk_size(std::uint64_t chunk, std::uint64_t count, std::uint64_t rest) {
    const std::uint64_t offset = chunk * count;
    return std::min(count, rest > offset ? rest - offset : 0);
  }

  // Starting with the second step, the generator takes the bounds of a slice from the elements of
  // the step before, and it keeps them in all later loops.
  void narrow_slices(std::uint64_t count) {
    constexpr std::uint64_t kGrain = 16;
    constexpr std::uint64_t kLeastPart = 32;
    const std::uint64_t even = (count * slicing_.slices_per_chunk + kGrain - 1) / kGrain * kGrain;
    slicing_.slice_bytes = std::max(even, slicing_.slice_bytes / kLeastPart);
  }

  void ring_all_reduce(Fork& fork) {
    const auto rank = static_cast<std::uint64_t>(work_.rank);
    const std::uint64_t loop = num_ranks_ * work_.part.chunk_count;
    std::uint64_t count = work_.part.chunk_count;
    for (std::uint64_t offset = 0; offset < work_.part.count; offset += loop) {
      const std::uint64_t rest = work_.part.count - offset;
      if (rest < loop) count = work_.part.last_chunk_count;
      const auto next_step = [&](const Primitive& primitive, std::uint64_t back) {
        const std::uint64_t size = chunk_size((rank + num_ranks_ - back) % num_ranks_, count, rest);
        narrow_slices(size);
        step(fork, primitive, size);
      };
      step(fork, {.to = &to_}, chunk_size((rank + num_ranks_ - 1) % num_ranks_, count, rest));
      for (std::uint64_t j = 2; j < num_ranks_; ++j)
        next_step({.from = &from_, .to = &to_, .reduce = true}, j);
      next_step({.from = &from_, .to = &to_, .reduce = true, .copy = true}, 0);
      for (std::uint64_t j = 1; j + 1 < num_ranks_; ++j)
        next_step({.from = &from_, .to = &to_, .copy = true}, j);
      next_step({.from = &from_}, num_ranks_ - 1);
    }
  }

  void ring_all_gather(Fork& fork) {
    const bool in_place = work_.operation.in_place;
    for_each_chunk([&](std::uint64_t count) {
      step(fork, {.to = &to_, .copy = !in_place}, count);
      for (std::uint64_t i = 2; i < num_ranks_; ++i)
        step(fork, {.from = &from_, .to = &to_, .copy = true}, count);
      step(fork, {.from = &from_}, count);
    });
  }

  void ring_reduce_scatter(Fork& fork) {
    for_each_chunk([&](std::uint64_t count) {
      step(fork, {.to = &to_}, count);
      for (std::uint64_t i = 2; i < num_ranks_; ++i)
        step(fork, {.from = &from_, .to = &to_, .reduce = true}, count);
      step(fork, {.from = &from_, .reduce = true, .copy = true}, count);
    });
  }

  void ring_reduce(Fork& fork) {
    Primitive primitive = {.from = &from_, .to = &to_, .reduce = true};
    if (work_.rank == work_.operation.root) {
      primitive = {.from = &from_, .reduce = true, .copy = true};
    } else if (work_.neighbours.previous == work_.operation.root) {
      primitive = {.to = &to_};
    }
    for_each_chunk([&](std::uint64_t count) { step(fork, primitive, count); });
  }

  void ring_broadcast(Fork& fork) {
    Primitive primitive = {.from = &from_, .to = &to_, .copy = true};
    if (work_.rank == work_.operation.root) {
      primitive = {.to = &to_};
    } else if (work_.neighbours.next == work_.operation.root) {
      primitive = {.from = &from_};
    }
    for_each_chunk([&](std::uint64_t count) { step(fork, primitive, count); });
  }

  void tree_all_reduce(Fork& fork) {
    if (work_.neighbours.up >= 0) {
      to_ = peers_.to(writer_, work_.communicator, work_.neighbours.up);
      from_ = peers_.from(writer_, work_.communicator, work_.neighbours.up);
    }
    for (const std::int32_t child : work_.neighbours.down) {
      from_children_.push_back(peers_.from(writer_, work_.communicator, child));
      to_children_.push_back(peers_.to(writer_, work_.communicator, child));
    }
    for_each_chunk([&](std::uint64_t count) { fork.add(tree_chunk(count * element_bytes_)); });
  }

  Ends tree_chunk(std::uint64_t bytes) {
    std::vector<Ends>& chain = chain_;
    chain.clear();
    const auto append = [&](const Ends& part) {
      if (!chain.empty()) writer_.require(part, chain.back());
      chain.push_back(part);
    };
    if (!from_children_.empty()) append(gather_children(bytes));
    if (work_.neighbours.up >= 0) {
      append(writer_.primitive({.to = &to_}, bytes, slicing_));
      append(writer_.primitive({.from = &from_}, bytes, slicing_));
    }
    if (!to_children_.empty()) append(feed_children(bytes));
    return {chain.front().first, chain.back().last};
  }

  Ends gather_children(std::uint64_t bytes) {
    const bool root = work_.neighbours.up < 0;
    Fork fork(writer_);
    for (const Link& child : from_children_) {
      const bool copy = root && &child == &from_children_.back();
      fork.add(writer_.primitive({.from = &child, .reduce = true, .copy = copy}, bytes, slicing_));
    }
    return fork.join();
  }

  Ends feed_children(std::uint64_t bytes) {
    Fork fork(writer_);
    for (const Link& child : to_children_)
      fork.add(writer_.primitive({.to = &child}, bytes, slicing_));
    return fork.join();
  }

  const ChannelWork& work_;
  const Peers& peers_;
  GraphWriter& writer_;
  Slicing slicing_;
  std::uint64_t element_bytes_;
  std::uint64_t num_ranks_;
  Link from_;
  Link to_;
  std::vector<Link> from_children_;
  std::vector<Link> to_children_;
  std::vector<Ends> chain_;
};

}  // namespace

bool is_known(const model::Operation& operation) {
  // The protocol of sends and receives that was not recorded follows from NCCL's rules.
  if (is_point_to_point(operation.function)) return true;
  if (operation.protocol == NcclProtocol::kNone) return false;
  switch (operation.function) {
    case NcclFunction::kAllReduce:
      return operation.algorithm == NcclAlgorithm::kRing ||
             operation.algorithm == NcclAlgorithm::kTree;
    case NcclFunction::kAllGather:
    case NcclFunction::kReduceScatter:
    case NcclFunction::kBroadcast:
    case NcclFunction::kReduce:
      return operation.algorithm == NcclAlgorithm::kRing;
    default:
      return false;
  }
}

Ends write_channel(const ChannelWork& work, const Peers& peers, GraphWriter& writer) {
  return ChannelWriter(work, peers, writer).write();
}

Ends write_transfer(const ChannelWork& work, const Peers& peers, GraphWriter& writer) {
  const bool sends = work.operation.function == NcclFunction::kSend;
  const Link link = sends ? peers.to(writer, work.communicator, work.operation.peer)
                          : peers.from(writer, work.communicator, work.operation.peer);
  Primitive primitive;
  (sends ? primitive.to : primitive.from) = &link;
  return writer.primitive(primitive, work.part.count, work.slicing);
}

}  // namespace assay::goal::compat_v2
