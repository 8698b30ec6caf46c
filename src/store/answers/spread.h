// How far answers are off, as points that were left out tell.
//
// Each way of answering gives its answer a raw error: what its neighbours let expect, right only up
// to a factor. Points that are left out tell the factor: that within which 68.3 % of them (one
// sigma) and 80 % of them lie, by order statistics with the share of one more point (split
// conformal prediction: V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World",
// 2005), in up to four classes of the raw error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/answers/work.h"

namespace assay::store {

// Both as logarithms of the latency.
struct Miss {
  double raw = 0;    // the raw error of an answer, greater than 0
  double error = 0;  // how far it was off
};

class Spread {
 public:
  // What nothing is known of: twice the raw error.
  Spread() = default;
  // No fewer than 8 are told apart from none.
  explicit Spread(std::vector<Miss> misses);

  static constexpr std::size_t kFewest = 8;

  // Half of the intervals that hold 68.3 % and 80 %, in a straight line between the classes.
  [[nodiscard]] double one(double raw) const { return at(raw, ones_); }

  [[nodiscard]] double eighty(double raw) const { return at(raw, eighties_); }

  [[nodiscard]] bool is_known() const { return misses_ > 0; }

 private:
  static constexpr std::size_t kMostClasses = 4;
  using PerClass = std::array<double, kMostClasses>;

  [[nodiscard]] double at(double raw, const PerClass& halves) const;

  std::uint64_t misses_ = 0;
  std::uint64_t classes_ = 1;
  PerClass raws_ = {1};  // ascending
  PerClass ones_ = {2};
  PerClass eighties_ = {2 * 1.2816};
};

// The ways of answering, see family.h.
enum class Way : std::uint8_t { kOwnCurve, kPast, kAcross, kSame };
inline constexpr std::size_t kWays = 4;

// Half of the intervals of an answer, as logarithms.
struct Halves {
  double one = 0;
  double eighty = 0;
};

// As a block of bytes, part of what queries map (packed_tables.h).
struct Spreads {
  std::array<Spread, kWays> parts;  // of each way alone
  std::array<Spread, kWays> ways;   // of what is answered: often a mean of several
  // Of answers that lie past all rows: by the quantity (work.h) and the side, twice its number and
  // one more for above. Unknown where there are too few values of it.
  std::array<Spread, 2 * kMostWorkAxes> beyond;

  [[nodiscard]] const Spread& part(Way way) const { return parts[static_cast<std::size_t>(way)]; }

  [[nodiscard]] Halves of_way(Way way, double raw) const;
  // Where nothing is known of this quantity and side, the widest of all that are known.
  [[nodiscard]] Halves of_beyond(std::size_t axis, bool is_above, double raw) const;
};

}  // namespace assay::store
