#include "core/linear_equations.h"

#include <gtest/gtest.h>

namespace assay::core {
namespace {

TEST(LinearEquations, AreSolved) {
  const LinearSolution solution = solve({{{2, 1, 0}, {1, 3, 1}, {0, 1, 4}}, {4, 10, 14}});
  EXPECT_EQ(solution.rank, 3U);
  EXPECT_NEAR(solution.unknowns[0], 1, 1e-12);
  EXPECT_NEAR(solution.unknowns[1], 2, 1e-12);
  EXPECT_NEAR(solution.unknowns[2], 3, 1e-12);
}

TEST(LinearEquations, LeaveAnUnknownFree) {
  const LinearSolution solution = solve({{{1, -1}, {-1, 1}}, {3, -3}});
  EXPECT_EQ(solution.rank, 1U);
  EXPECT_NEAR(solution.unknowns[0] - solution.unknowns[1], 3, 1e-12);
}

TEST(LinearEquations, OfNothingHaveNoRank) {
  EXPECT_EQ(solve({{{0, 0}, {0, 0}}, {0, 0}}).rank, 0U);
  EXPECT_EQ(solve({}).rank, 0U);
}

}  // namespace
}  // namespace assay::core
