// The time of reductions and copies by the public generator's rules: the measurements of a size
// where there are any, straight lines between the sizes, the same for all sizes beyond the largest.
#pragma once

#include <array>
#include <cstdint>

#include "goal/costs.h"

namespace assay::goal::compat_v2 {

// The generator draws one of the measurements; here it is their mean, or with
// CostChoice::Kind::kSample the one that the seed, the size and the protocol choose. Between the
// sizes it adds noise of 1 %; here that happens with kSample alone.
std::uint64_t duration_ns(const CostCurve& curve,
                          const CostChoice& choice,
                          std::uint64_t bytes,
                          std::uint64_t draw);

// Remembers what it was asked before, as few sizes make up a schedule. One per thread.
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
      // LL128 is LL to the generator.
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

}  // namespace assay::goal::compat_v2
