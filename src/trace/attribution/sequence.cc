#include "trace/attribution/sequence.h"

#include <algorithm>

namespace assay::trace::attribution {
namespace {

using Sequence = std::span<const std::uint64_t>;

constexpr std::size_t kMostCells = 4'000'000;
constexpr std::size_t kLookAhead = 64;

class Merger {
 public:
  std::vector<MergedElement> merge(Sequence a, Sequence b) {
    const std::size_t same = common_beginning(a, b);
    take_pairs(same);
    a = a.subspan(same);
    b = b.subspan(same);
    const std::size_t end = common_end(a, b);
    if ((a.size() - end) * (b.size() - end) <= kMostCells) {
      merge_longest(a.first(a.size() - end), b.first(b.size() - end));
    } else {
      merge_greedily(a.first(a.size() - end), b.first(b.size() - end));
    }
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

  void merge_longest(Sequence a, Sequence b) {
    const std::size_t width = b.size() + 1;
    // The length of the longest common subsequence from (i, j) on.
    std::vector<std::uint32_t> length((a.size() + 1) * width, 0);
    for (std::size_t i = a.size(); i-- > 0;)
      for (std::size_t j = b.size(); j-- > 0;)
        length[i * width + j] =
            a[i] == b[j] ? length[(i + 1) * width + j + 1] + 1
                         : std::max(length[(i + 1) * width + j], length[i * width + j + 1]);
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
      if (a[i] == b[j]) {
        take_pairs(1);
        ++i;
        ++j;
      } else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) {
        take_a(1);
        ++i;
      } else {
        take_b(1);
        ++j;
      }
    }
    take_a(a.size() - i);
    take_b(b.size() - j);
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
