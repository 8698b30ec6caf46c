// NCCL's primitives as the public generator writes them, into the graph of one rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "goal/compat_v2/durations.h"
#include "model/collective.h"
#include "model/schedule_builder.h"

namespace assay::goal::compat_v2 {

// A part of the graph: what must wait for others, and what others wait for.
struct Ends {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// A GPU that messages come from or go to, under one name.
struct Link {
  std::uint32_t peer = 0;
  bool same_node = false;
  std::uint32_t* number = nullptr;  // of the next message
};

// Receives, works, sends; any of them may be left out.
struct Primitive {
  const Link* from = nullptr;
  const Link* to = nullptr;
  bool reduce = false;
  bool copy = false;
};

// How the data of a primitive are cut.
struct Slicing {
  model::NcclProtocol protocol = model::NcclProtocol::kSimple;
  std::uint64_t slice_bytes = 0;       // at most; of sends and receives, exactly
  std::uint64_t slices_per_chunk = 0;  // 0: as many as it takes
};

// The most messages of one direction, peer and name.
struct MostMessages {
  std::uint64_t count = 0;
  std::uint32_t peer = 0;
  std::uint32_t context = 0;
  bool sends = true;
};

class GraphWriter {
 public:
  GraphWriter(model::RankBuilder& graph, Durations durations, std::uint32_t tag_unit)
      : graph_(graph), durations_(std::move(durations)), tag_unit_(tag_unit) {}

  void cpu(std::uint32_t cpu) { place_.cpu = static_cast<std::uint8_t>(cpu); }

  void context(std::uint32_t context) { context_ = context; }

  Link send_link(std::uint32_t peer, bool same_node) {
    return {peer, same_node, &sends_[key(peer)]};
  }

  Link receive_link(std::uint32_t peer, bool same_node) {
    return {peer, same_node, &receives_[key(peer)]};
  }

  Ends calc(std::uint64_t duration_ns);
  Ends primitive(const Primitive& primitive, std::uint64_t bytes, const Slicing& slicing);

  void require(const Ends& after, const Ends& before) {
    graph_.require_finish(after.first, before.last);
  }

  // Parts side by side, between two empty calculations on the cpu of the fork.
  class Fork {
   public:
    explicit Fork(GraphWriter& writer)
        : writer_(writer), place_(writer.place_), base_(writer.open_.size()) {
      start_ = writer.graph_.calc(0, place_);
    }

    void add(const Ends& part) {
      writer_.graph_.require_finish(part.first, start_);
      writer_.open_.push_back(part.last);
    }

    Ends join();

   private:
    GraphWriter& writer_;
    model::Place place_;
    std::size_t base_;
    std::uint32_t start_;
  };

  [[nodiscard]] MostMessages most_messages() const;

  // Primitives written, after they were cut into slices.
  [[nodiscard]] std::uint64_t num_atoms() const { return num_atoms_; }

 private:
  using Numbers = std::unordered_map<std::uint64_t, std::uint32_t>;

  [[nodiscard]] std::uint64_t key(std::uint32_t peer) const {
    return std::uint64_t{peer} << 32U | context_;
  }

  [[nodiscard]] std::uint32_t tag(const Link& link) const {
    return (*link.number)++ * tag_unit_ + context_;
  }

  Ends atom(const Primitive& primitive, std::uint64_t bytes, model::NcclProtocol protocol);
  Ends receive(const Link& link, std::uint64_t bytes);
  Ends send(const Link& link, std::uint64_t bytes);
  Ends slices(const Primitive& primitive, std::uint64_t bytes, const Slicing& slicing);
  Ends pieces(const Primitive& primitive, std::uint64_t bytes, const Slicing& slicing);

  model::RankBuilder& graph_;
  Durations durations_;
  std::uint32_t tag_unit_;
  std::uint32_t context_ = 0;
  std::uint64_t num_atoms_ = 0;
  model::Place place_;
  Numbers sends_;
  Numbers receives_;
  std::vector<std::uint32_t> open_;  // ends of the parts of open forks
};

}  // namespace assay::goal::compat_v2
