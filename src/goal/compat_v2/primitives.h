// NCCL's primitives as the public generator writes them into the graph of one rank, and the time of
// reductions and copies by its rules: the measurements of a size where there are any, linear
// between the sizes, and constant beyond the largest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "goal/costs.h"
#include "model/collective.h"
#include "model/schedule_writer.h"

namespace assay::goal::compat_v2 {

// The generator draws one of the measurements at random. Here the duration is their mean or, with
// CostChoice::Kind::kSample, the one that the seed, the size and the protocol choose. Between the
// sizes the generator adds noise of 1 %, which happens here with kSample alone.
std::uint64_t duration_ns(const CostCurve& curve,
                          const CostChoice& choice,
                          std::uint64_t bytes,
                          std::uint64_t draw);

// Caches durations, because a schedule has few different sizes. Use one per thread.
class Durations {
 public:
  explicit Durations(const Costs& costs) : costs_(&costs) {}

  std::uint64_t reduce_ns(model::NcclProtocol protocol, std::uint64_t bytes) {
    return look_up(protocol, Work::kReduce, bytes);
  }

  std::uint64_t copy_ns(model::NcclProtocol protocol, std::uint64_t bytes) {
    return look_up(protocol, Work::kCopy, bytes);
  }

 private:
  struct Known {
    bool valid = false;
    std::uint64_t bytes = 0;
    std::uint64_t duration_ns = 0;
  };

  static constexpr std::size_t kKnown = 16;

  std::uint64_t look_up(model::NcclProtocol protocol, Work work, std::uint64_t bytes) {
    const auto row = static_cast<std::size_t>(protocol) % costs_->curves.size();
    const auto column = static_cast<std::size_t>(work);
    Known& known = known_[row][column][(bytes >> 4U) % kKnown];
    if (!known.valid || known.bytes != bytes) {
      // The generator treats LL128 as LL.
      const std::size_t draw_row = row == 1 ? 0 : row;
      known = {true, bytes,
               compat_v2::duration_ns(costs_->curves[row][column], costs_->choice, bytes,
                                      (bytes << 4U) | (draw_row << 2U) | column)};
    }
    return known.duration_ns;
  }

  const Costs* costs_;
  std::array<std::array<std::array<Known, kKnown>, 3>, 3> known_;
};

// A part of the graph: its first operation waits for others, others wait for its last.
struct Ends {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// A GPU that sends or receives messages under one name.
struct Link {
  std::uint32_t peer = 0;
  bool same_node = false;
  std::uint32_t* number = nullptr;  // the number of the next message
};

// A primitive receives, works and sends; any of these may be left out.
struct Primitive {
  const Link* from = nullptr;
  const Link* to = nullptr;
  bool reduce = false;
  bool copy = false;
};

// The sizes into which the data of a primitive are cut.
struct Slicing {
  model::NcclProtocol protocol = model::NcclProtocol::kSimple;
  // The most bytes of a slice; for sends and receives, the exact size.
  std::uint64_t slice_bytes = 0;
  std::uint64_t slices_per_chunk = 0;  // 0: as many as needed
};

// The largest number of messages of one direction, peer and name.
struct MostMessages {
  std::uint64_t count = 0;
  std::uint32_t peer = 0;
  std::uint32_t context = 0;
  bool sends = true;
};

class GraphWriter {
 public:
  GraphWriter(model::RankBuilder& graph, Durations durations, std::uint32_t tag_unit)
      : graph_(graph), durations_(durations), tag_unit_(tag_unit) {}

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

  // Parts that run side by side, between two empty calculations on the cpu of the fork.
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

  // Returns the number of primitives, counted after they were cut into slices.
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
  std::vector<std::uint32_t> open_;  // the last operations of the parts of open forks
};

}  // namespace assay::goal::compat_v2
