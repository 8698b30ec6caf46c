#include "allreduce/row_path.h"

#include <algorithm>

#include "core/check.h"

namespace assay::allreduce {
namespace {

class RowSearch {
 public:
  RowSearch(const std::vector<std::vector<std::int64_t>>& costs,
            const std::vector<int>& ranks,
            const RowPrices& prices)
      : costs_(costs), ranks_(ranks), prices_(prices), ahead_(costs) {
    for (std::size_t cell = costs.size(); cell-- > 1;) {
      for (std::size_t state = 0; state < ranks.size(); ++state) {
        const std::size_t next = best_after(state, cell);
        ahead_[cell - 1][state] = std::min(
            kImpossible, costs_[cell - 1][state] + price(state, next) + ahead_[cell][next]);
      }
    }
  }

  [[nodiscard]] std::size_t first() const {
    const auto& start = ahead_.front();
    return static_cast<std::size_t>(std::min_element(start.begin(), start.end()) - start.begin());
  }

  // The best state of `cell` after `previous`: the same one if no other is cheaper.
  [[nodiscard]] std::size_t best_after(std::size_t previous, std::size_t cell) const {
    std::size_t best = previous;
    for (std::size_t state = 0; state < ranks_.size(); ++state) {
      if (price(previous, state) + ahead_[cell][state] <
          price(previous, best) + ahead_[cell][best]) {
        best = state;
      }
    }
    return best;
  }

 private:
  [[nodiscard]] std::int64_t price(std::size_t from, std::size_t to) const {
    if (from == to) return 0;
    return prices_.change + (ranks_[to] < ranks_[from] ? prices_.back : 0);
  }

  const std::vector<std::vector<std::int64_t>>& costs_;
  const std::vector<int>& ranks_;
  const RowPrices& prices_;
  std::vector<std::vector<std::int64_t>> ahead_;  // of a cell and all after it
};

}  // namespace

std::vector<std::size_t> cheapest_path(const std::vector<std::vector<std::int64_t>>& costs,
                                       const std::vector<int>& ranks,
                                       const RowPrices& prices) {
  if (costs.empty()) return {};
  const RowSearch search(costs, ranks, prices);
  std::vector<std::size_t> path{search.first()};
  for (std::size_t cell = 1; cell < costs.size(); ++cell)
    path.push_back(search.best_after(path.back(), cell));
  for (std::size_t cell = 0; cell < costs.size(); ++cell)
    ASSAY_CHECK(costs[cell][path[cell]] < kImpossible, "a cell without a possible state");
  return path;
}

}  // namespace assay::allreduce
