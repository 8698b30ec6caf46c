#include "sweep/sweep.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace assay::sweep {
namespace {

using std::chrono::milliseconds;

TEST(TimeLimit, IsRoundedUpToMilliseconds) {
  EXPECT_EQ(time_limit(0.4).value(), milliseconds(400));
  EXPECT_EQ(time_limit(1e-9).value(), milliseconds(1));
  EXPECT_EQ(time_limit(31'536'000).value(), milliseconds(31'536'000'000));
}

TEST(TimeLimit, IsAtMostAYear) {
  for (const double seconds : {31'536'001.0, 1e10, 1e30}) {
    const auto limit = time_limit(seconds);
    ASSERT_FALSE(limit.ok()) << seconds;
    EXPECT_NE(limit.error().message.find("more than a year"), std::string::npos);
  }
}

}  // namespace
}  // namespace assay::sweep
