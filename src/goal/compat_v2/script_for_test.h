#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/job.h"

namespace assay::goal {

inline constexpr std::uint32_t kCollectives = 0;  // streams
inline constexpr std::uint32_t kExchanges = 1;

// A job of one communicator whose ranks make the same calls, one kernel after the other.
class Script {
 public:
  Script(std::vector<std::string> nodes, const std::vector<std::vector<std::int32_t>>& rings) {
    const auto num_ranks = static_cast<std::int32_t>(nodes.size());
    model::Communicator world;
    world.name = "0x77";
    for (std::int32_t rank = 0; rank < num_ranks; ++rank) {
      world.gpus.push_back(static_cast<std::uint32_t>(rank));
      job_.gpus.push_back({.node = nodes[static_cast<std::size_t>(rank)],
                           .process_id = 5000 + rank,
                           .streams = {"0x55", "0x77"}});
    }
    for (const auto& ring : rings)
      world.channels.push_back(links(ring));
    job_.communicators.push_back(std::move(world));
  }

  Script& launch(std::int64_t duration_ns) {
    start_ns_ = end_ns_ + 5000;
    end_ns_ = start_ns_ + duration_ns;
    return *this;
  }

  Script& grouped() {
    call_group_ = ++last_group_;
    ++plan_;
    return *this;
  }

  Script& alone() {
    call_group_ = -1;
    ++plan_;
    return *this;
  }

  void all(model::Operation operation, const std::vector<model::ChannelPart>& parts) {
    for (std::size_t gpu = 0; gpu < job_.gpus.size(); ++gpu)
      one(gpu, operation, parts);
  }

  void one(std::size_t gpu,
           model::Operation operation,
           const std::vector<model::ChannelPart>& parts) {
    model::JobGpu& to = job_.gpus[gpu];
    operation.group = plan_;
    operation.call_group = call_group_;
    operation.start_ns = start_ns_;
    operation.end_ns = end_ns_;
    operation.first_part = static_cast<std::uint32_t>(to.parts.size());
    operation.num_parts = static_cast<std::uint32_t>(parts.size());
    to.parts.insert(to.parts.end(), parts.begin(), parts.end());
    to.operations.push_back(operation);
  }

  void send(std::size_t from,
            std::size_t to,
            model::NcclProtocol protocol,
            const std::vector<model::ChannelPart>& parts) {
    exchange(model::NcclFunction::kSend, from, to, protocol, parts);
  }

  void receive(std::size_t at,
               std::size_t from,
               model::NcclProtocol protocol,
               const std::vector<model::ChannelPart>& parts) {
    exchange(model::NcclFunction::kRecv, at, from, protocol, parts);
  }

  model::Job& job() { return job_; }

 private:
  // Trees are heaps: the children of r are 2 r + 1 and 2 r + 2.
  static std::vector<model::ChannelLinks> links(const std::vector<std::int32_t>& ring) {
    const std::size_t size = ring.size();
    std::vector<model::ChannelLinks> links(size);
    for (std::size_t i = 0; i < size; ++i) {
      const std::int32_t rank = ring[i];
      model::ChannelLinks& own = links[static_cast<std::size_t>(rank)];
      own.ring_previous = ring[(i + size - 1) % size];
      own.ring_next = ring[(i + 1) % size];
      own.tree_up = rank > 0 ? (rank - 1) / 2 : -1;
      for (std::int32_t n = 0; n < 2; ++n) {
        const std::int32_t child = 2 * rank + 1 + n;
        own.tree_down[static_cast<std::size_t>(n)] =
            child < static_cast<std::int32_t>(size) ? child : -1;
      }
    }
    return links;
  }

  void exchange(model::NcclFunction function,
                std::size_t gpu,
                std::size_t peer,
                model::NcclProtocol protocol,
                const std::vector<model::ChannelPart>& parts) {
    one(gpu,
        {.function = function,
         .protocol = protocol,
         .stream = kExchanges,
         .peer = static_cast<std::int32_t>(peer)},
        parts);
  }

  model::Job job_;
  std::int64_t start_ns_ = 0;
  std::int64_t end_ns_ = 1'000'000'000;
  std::int32_t call_group_ = -1;
  std::int32_t last_group_ = -1;
  std::uint32_t plan_ = 0;
};

inline model::Operation collective(model::NcclFunction function,
                                   model::NcclAlgorithm algorithm,
                                   model::NcclProtocol protocol) {
  const bool sliced =
      protocol == model::NcclProtocol::kSimple && function != model::NcclFunction::kBroadcast;
  const bool bytes =
      function == model::NcclFunction::kAllGather || function == model::NcclFunction::kBroadcast;
  return {.function = function,
          .algorithm = algorithm,
          .protocol = protocol,
          .stream = kCollectives,
          .root = 0,
          .element_bytes = bytes ? 1U : 4U,
          .chunk_steps = sliced ? 4U : 1U,
          .slice_steps = sliced ? 2U : 1U,
          .step_bytes = 16384};
}

inline model::ChannelPart part(std::uint64_t count, std::uint64_t chunk, std::uint64_t last = 0) {
  return {.count = count, .chunk_count = chunk, .last_chunk_count = last};
}

inline std::vector<model::ChannelPart> transfer(const std::vector<std::uint64_t>& counts) {
  std::vector<model::ChannelPart> parts;
  for (const std::uint64_t count : counts)
    parts.push_back(part(count, 4096));
  return parts;
}

}  // namespace assay::goal
