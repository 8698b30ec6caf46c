// When each of many instances goes on, kept so that the earliest is found without asking all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace assay::plan {

class NextTimes {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  // None of them goes on. Precondition: there is at least one.
  explicit NextTimes(std::size_t count) {
    while (leaves_ < count)
      leaves_ *= 2;
    times_.assign(2 * leaves_, kNever);
  }

  void set(std::size_t place, double at_ms) {
    std::size_t node = leaves_ + place;
    times_[node] = at_ms;
    for (node /= 2; node > 0; node /= 2)
      times_[node] = std::min(times_[2 * node], times_[2 * node + 1]);
  }

  [[nodiscard]] double earliest_ms() const { return times_[1]; }

  // Returns the first of several at the same time.
  [[nodiscard]] std::size_t earliest() const {
    std::size_t node = 1;
    while (node < leaves_)
      node = 2 * node + (times_[2 * node] <= times_[2 * node + 1] ? 0 : 1);
    return node - leaves_;
  }

  // Of all the others.
  [[nodiscard]] double earliest_ms_but(std::size_t place) const {
    double earliest = kNever;
    for (std::size_t node = leaves_ + place; node > 1; node /= 2)
      earliest = std::min(earliest, times_[node ^ 1]);
    return earliest;
  }

 private:
  std::size_t leaves_ = 1;
  // A tree: the children of node n are 2n and 2n + 1, of which it has the earlier time; the root is
  // 1, and the instances are its leaves.
  std::vector<double> times_;
};

}  // namespace assay::plan
