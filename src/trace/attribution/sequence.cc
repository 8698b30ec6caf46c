#include "trace/attribution/sequence.h"

#include <algorithm>

namespace assay::trace::attribution {
namespace {

using Sequence = std::span<const std::uint64_t>;

// The time and memory for so many are those of some millions of comparisons.
constexpr std::ptrdiff_t kMostDifferences = 2000;
constexpr std::size_t kLookAhead = 64;

class Merger {
 public:
  std::vector<MergedElement> merge(Sequence a, Sequence b) {
    const std::size_t same = common_beginning(a, b);
    take_pairs(same);
    a = a.subspan(same);
    b = b.subspan(same);
    const std::size_t end = common_end(a, b);
    const Sequence middle_a = a.first(a.size() - end);
    const Sequence middle_b = b.first(b.size() - end);
    if (!merge_closest(middle_a, middle_b)) merge_greedily(middle_a, middle_b);
    take_pairs(end);
    return std::move(merged_);
  }

 private:
  static std::size_t common_beginning(Sequence a, Sequence b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                    a.begin());
  }

  static std::size_t common_end(Sequence a, Sequence b) {
    return static_cast<std::size_t>(
        std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin());
  }

  void take_pairs(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      merged_.push_back({next_a_++, next_b_++});
  }

  void take_a(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      merged_.push_back({next_a_++, kAbsentPosition});
  }

  void take_b(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      merged_.push_back({kAbsentPosition, next_b_++});
  }

  // Finds a shortest way from the beginning of both to their ends, where each step takes an element
  // of one sequence and pairs are free (E. W. Myers, An O(ND) Difference Algorithm, 1986). Returns
  // false when it is longer than kMostDifferences.
  bool merge_closest(Sequence a, Sequence b) {
    const auto size_a = static_cast<std::ptrdiff_t>(a.size());
    const auto size_b = static_cast<std::ptrdiff_t>(b.size());
    const std::ptrdiff_t most = std::min(size_a + size_b, kMostDifferences);
    // furthest[most + k]: elements of `a` taken on the furthest way with k more of a than of b.
    std::vector<std::int32_t> furthest(static_cast<std::size_t>(2 * most + 3), 0);
    std::vector<std::vector<std::int32_t>> history;
    for (std::ptrdiff_t steps = 0; steps <= most; ++steps) {
      for (std::ptrdiff_t k = -steps; k <= steps; k += 2) {
        const auto at = static_cast<std::size_t>(most + 1 + k);
        const bool takes_b = k == -steps || (k != steps && furthest[at - 1] < furthest[at + 1]);
        std::ptrdiff_t i = takes_b ? furthest[at + 1] : furthest[at - 1] + 1;
        while (i < size_a && i - k < size_b &&
               a[static_cast<std::size_t>(i)] == b[static_cast<std::size_t>(i - k)])
          ++i;
        furthest[at] = static_cast<std::int32_t>(i);
        if (i < size_a || i - k < size_b) continue;
        take_way(history, size_a, size_b, steps);
        return true;
      }
      const auto middle = furthest.begin() + most + 1;
      history.emplace_back(middle - steps, middle + steps + 1);
    }
    return false;
  }

  // Follows the way back through the furthest ways after fewer steps, and takes its elements.
  void take_way(const std::vector<std::vector<std::int32_t>>& history,
                std::ptrdiff_t i,
                std::ptrdiff_t j,
                std::ptrdiff_t steps) {
    std::vector<MergedElement> back;
    const auto pair_down_to = [&](std::ptrdiff_t begin) {
      for (; i > begin; --i, --j)
        back.push_back({next_a_ + static_cast<std::uint32_t>(i - 1),
                        next_b_ + static_cast<std::uint32_t>(j - 1)});
    };
    const std::ptrdiff_t end_i = i;
    const std::ptrdiff_t end_j = j;
    for (; steps > 0; --steps) {
      const auto& before = history[static_cast<std::size_t>(steps - 1)];
      const std::ptrdiff_t k = i - j;
      const auto after = [&](std::ptrdiff_t diagonal) -> std::ptrdiff_t {
        const std::ptrdiff_t at = diagonal + steps - 1;
        return at < 0 || at >= static_cast<std::ptrdiff_t>(before.size())
                   ? -1
                   : before[static_cast<std::size_t>(at)];
      };
      const bool takes_b = k == -steps || (k != steps && after(k - 1) < after(k + 1));
      if (takes_b) {
        pair_down_to(after(k + 1));
        back.push_back({kAbsentPosition, next_b_ + static_cast<std::uint32_t>(--j)});
      } else {
        pair_down_to(after(k - 1) + 1);
        back.push_back({next_a_ + static_cast<std::uint32_t>(--i), kAbsentPosition});
      }
    }
    pair_down_to(0);
    merged_.insert(merged_.end(), back.rbegin(), back.rend());
    next_a_ += static_cast<std::uint32_t>(end_i);
    next_b_ += static_cast<std::uint32_t>(end_j);
  }

  void merge_greedily(Sequence a, Sequence b) {
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
      const auto ahead_b = b.subspan(j, std::min(kLookAhead, b.size() - j));
      const auto ahead_a = a.subspan(i, std::min(kLookAhead, a.size() - i));
      const auto skip_b = static_cast<std::size_t>(std::find(ahead_b.begin(), ahead_b.end(), a[i]) -
                                                   ahead_b.begin());
      const auto skip_a = static_cast<std::size_t>(std::find(ahead_a.begin(), ahead_a.end(), b[j]) -
                                                   ahead_a.begin());
      if (skip_b <= skip_a && skip_b < ahead_b.size()) {
        take_b(skip_b);
        j += skip_b + 1;
      } else if (skip_a < ahead_a.size()) {
        take_a(skip_a);
        i += skip_a + 1;
      } else {
        take_a(1);
        take_b(1);
        ++i;
        ++j;
        continue;
      }
      take_pairs(1);
      if (skip_b <= skip_a && skip_b < ahead_b.size()) {
        ++i;
      } else {
        ++j;
      }
    }
    take_a(a.size() - i);
    take_b(b.size() - j);
  }

  std::vector<MergedElement> merged_;
  std::uint32_t next_a_ = 0;
  std::uint32_t next_b_ = 0;
};

}  // namespace

std::vector<MergedElement> merged_sequences(Sequence a, Sequence b) {
  return Merger().merge(a, b);
}

}  // namespace assay::trace::attribution
