#include "plan/search/least_count.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::plan {
namespace {

TEST(LeastCount, IsThatOfTryingAll) {
  for (std::int64_t most = 0; most <= 20; ++most) {
    for (std::int64_t least = 1; least <= 22; ++least) {
      for (std::int64_t guess = -1; guess <= 25; ++guess) {
        const auto found =
            least_count(guess, most, [&](std::int64_t count) { return count >= least; });
        if (least <= most) {
          EXPECT_EQ(found, least) << most << ' ' << guess;
        } else {
          EXPECT_FALSE(found.has_value()) << most << ' ' << guess;
        }
      }
    }
  }
}

TEST(LeastCount, OfAGoodGuessAsksTwice) {
  std::vector<std::int64_t> asked;
  EXPECT_EQ(least_count(700, 1'000'000,
                        [&](std::int64_t count) {
                          asked.push_back(count);
                          return count >= 700;
                        }),
            700);
  EXPECT_EQ(asked, (std::vector<std::int64_t>{700, 699}));
}

}  // namespace
}  // namespace assay::plan
