#include "allreduce/row_path.h"

#include <gtest/gtest.h>

#include <random>

namespace assay::allreduce {
namespace {

using Costs = std::vector<std::vector<std::int64_t>>;

std::int64_t price_of(const Costs& costs,
                      const std::vector<int>& ranks,
                      const RowPrices& prices,
                      const std::vector<std::size_t>& path) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (costs[i][path[i]] == kImpossible) return kImpossible;
    sum += costs[i][path[i]];
    if (i > 0 && path[i] != path[i - 1]) sum += prices.change;
    if (i > 0 && ranks[path[i]] < ranks[path[i - 1]]) sum += prices.back;
  }
  return sum;
}

std::int64_t least_of_all(const Costs& costs,
                          const std::vector<int>& ranks,
                          const RowPrices& prices,
                          std::vector<std::size_t> path = {}) {
  if (path.size() == costs.size()) return price_of(costs, ranks, prices, path);
  std::int64_t least = kImpossible;
  path.push_back(0);
  for (std::size_t state = 0; state < ranks.size(); ++state) {
    path.back() = state;
    least = std::min(least, least_of_all(costs, ranks, prices, path));
  }
  return least;
}

TEST(RowPath, IsTheCheapestOfAllPaths) {
  std::mt19937_64 random(7);
  const std::vector<int> ranks = {0, 1, 4};
  for (int trial = 0; trial < 300; ++trial) {
    Costs costs(6, std::vector<std::int64_t>(3));
    for (auto& cell : costs) {
      for (auto& cost : cell)
        cost = random() % 5 == 0 ? kImpossible : static_cast<std::int64_t>(random() % 40);
      cell[random() % 3] = 0;
    }
    const RowPrices prices{.change = static_cast<std::int64_t>(random() % 10),
                           .back = static_cast<std::int64_t>(random() % 30)};
    const auto path = cheapest_path(costs, ranks, prices);
    ASSERT_EQ(path.size(), costs.size());
    EXPECT_EQ(price_of(costs, ranks, prices, path), least_of_all(costs, ranks, prices));
  }
}

TEST(RowPath, ChangesAsLateAsItMay) {
  const Costs costs = {{0, 9}, {0, 0}, {0, 0}, {9, 0}};
  EXPECT_EQ(cheapest_path(costs, {0, 1}, {.change = 1, .back = 4}),
            (std::vector<std::size_t>{0, 0, 0, 1}));
}

TEST(RowPath, PrefersTheFirstStateWhereAllAreEqual) {
  const Costs costs = {{0, 0}, {0, 0}};
  EXPECT_EQ(cheapest_path(costs, {0, 1}, {}), (std::vector<std::size_t>{0, 0}));
}

TEST(RowPath, GoesBackOnlyForMoreThanItsPrice) {
  const RowPrices prices{.change = 1, .back = 4};  // there and back again costs 6
  EXPECT_EQ(cheapest_path({{0, 9}, {6, 0}, {0, 9}}, {1, 0}, prices),
            (std::vector<std::size_t>{0, 0, 0}));
  EXPECT_EQ(cheapest_path({{0, 9}, {7, 0}, {0, 9}}, {1, 0}, prices),
            (std::vector<std::size_t>{0, 1, 0}));
}

TEST(RowPath, AnEmptyRowHasAnEmptyPath) {
  EXPECT_TRUE(cheapest_path({}, {0, 1}, {}).empty());
}

}  // namespace
}  // namespace assay::allreduce
