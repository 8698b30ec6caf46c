#include "store/answers/calibration.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "store/answers/work_index.h"
#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

TEST(Spread, HoldsItsShareOfMisses) {
  std::vector<Miss> misses;
  for (int i = 0; i < 1000; ++i)
    misses.push_back({.raw = 0.1, .error = 1e-3 * (1 + i * 617 % 1000)});
  const Spread spread(misses);
  EXPECT_NEAR(spread.one(0.1), 0.7, 0.03);
  EXPECT_NEAR(spread.eighty(0.1), 0.82, 0.03);
  EXPECT_NEAR(spread.eighty(0.2), 1.64, 0.06);
}

TEST(Spread, TellsClassesOfRawErrorsApart) {
  std::vector<Miss> misses;
  for (int i = 1; i <= 1000; ++i) {
    misses.push_back({.raw = 0.05, .error = 0.1});
    misses.push_back({.raw = 1 + 0.01 * i, .error = 0.5});
  }
  const Spread spread(misses);
  EXPECT_LT(spread.eighty(0.05), 0.2);
  EXPECT_NEAR(spread.eighty(1.5), 0.5, 0.1);
}

TEST(Spread, KnowsNothingOfTooFew) {
  EXPECT_FALSE(Spread(std::vector<Miss>(Spread::kFewest - 1, {.raw = 1, .error = 1})).is_known());
  EXPECT_EQ(Spread().one(0.25), 0.5);
}

TEST(Spreads, TakeTheWidestOfOthersBeyondWhatIsUnknown) {
  Spreads spreads;
  const auto all_off_by = [](double error) {
    return Spread(std::vector<Miss>(20, {.raw = 1, .error = error}));
  };
  spreads.beyond[0] = all_off_by(0.1);
  spreads.beyond[1] = all_off_by(0.3);
  EXPECT_DOUBLE_EQ(spreads.of_beyond(0, false, 1).eighty, 0.1);
  EXPECT_DOUBLE_EQ(spreads.of_beyond(2, true, 1).eighty, 0.3);
}

WorkRows products(double scatter) {
  std::string csv = "gemm_dtype,m,n,k,latency\n";
  for (double n = 512; n <= 16384; n *= 2) {
    for (double m = 1; m <= 8192; m *= 2) {
      // Two neighbours are never off to the same side.
      const double off = 1 + scatter * std::sin(7 * std::log2(m) + 3 * std::log2(n));
      csv += fmt::format("fp8,{},{},4096,{}\n", m, n, off * (0.005 + m * n * 1e-8));
    }
  }
  auto rows = make_work_rows("gemm_perf", frame_of(csv));
  EXPECT_TRUE(rows.ok());
  return std::move(rows).value();
}

// The interval beside the same answer is as wide as the rows scatter.
TEST(Calibration, LearnsFromTheRowsHowFarAnswersAreOff) {
  const WorkIndex even(products(0.001), nullptr);
  const WorkIndex uneven(products(0.2), nullptr);
  const std::vector<double> asked{300, 4096, 4096};
  const double small = even.family(0).at(asked, Beyond::kRefuse).half_80;
  const double large = uneven.family(0).at(asked, Beyond::kRefuse).half_80;
  EXPECT_GT(large, 3 * small);
  EXPECT_GT(large, 0.05);
}

TEST(Calibration, AnswersOfRowsThatAreAllEqual) {
  std::string csv = "kind,s,n,latency\n";
  for (const int s : {1, 2, 4, 8, 16, 32, 64}) {
    for (const int n : {1, 2, 4})
      csv += fmt::format("x,{},{},1\n", s, n);
  }
  const WorkIndex index = WorkIndex::make("other_perf", frame_of(csv), nullptr).value();
  const auto answer = index.family(0).at(std::vector<double>{3, 3}, Beyond::kRefuse);
  EXPECT_NEAR(answer.latency, 1, 0.5);
  EXPECT_GT(answer.sigma, 0);
  EXPECT_LT(answer.low_80(), answer.high_80());
}

TEST(Calibration, TakesWhatWasLearntBefore) {
  WorkRows rows = products(0.2);
  const Spreads known;
  rows.spreads = &known;
  const WorkIndex index(rows, nullptr);
  EXPECT_EQ(&index.spreads(), &known);
  EXPECT_EQ(kept_rows(rows, [](std::size_t) { return true; }).spreads, nullptr);
}

TEST(Edge, LeavesAtLeastHalfOfTheValues) {
  const WorkRows rows = products(0);
  const std::vector<bool> large = Edge{.axis = 0, .is_upper = true}.rows_of(rows);
  double least_out = 1e9;
  double most_left = 0;
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    const double m = rows.sizes_of(row)[0];
    if (large[row]) least_out = std::min(least_out, m);
    if (!large[row]) most_left = std::max(most_left, m);
  }
  EXPECT_EQ(most_left, 2048);  // a quarter of the largest
  EXPECT_EQ(least_out, 4096);
  // k has one value.
  const std::vector<bool> none = Edge{.axis = 2, .is_upper = true}.rows_of(rows);
  EXPECT_EQ(std::count(none.begin(), none.end(), true), 0);
  for (const Edge& edge : edges_of(rows))
    EXPECT_TRUE(edge.axis != 0 || edge.is_upper) << "m begins with 1";
}

}  // namespace
}  // namespace assay::store
