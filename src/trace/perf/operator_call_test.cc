#include "trace/perf/operator_call.h"

#include <gtest/gtest.h>

namespace assay::trace {
namespace {

OperatorCall call_with(std::string_view dims, std::string_view concrete) {
  return {.name = "op", .dims = parse_arguments(dims), .concrete = parse_arguments(concrete)};
}

TEST(OperatorCall, ReadsShapesAndSettings) {
  const OperatorCall call = call_with("[[2, 3], [100000000000]]", R"(["", "[2, 2]", "0.5", "7"])");
  EXPECT_EQ(call.shape(0).value(), (Shape{2, 3}));
  EXPECT_EQ(call.shape(1, 1).value(), Shape{100'000'000'000});
  EXPECT_EQ(call.integers(1).value(), (Shape{2, 2}));
  EXPECT_EQ(call.number(2), 0.5);
  EXPECT_EQ(call.integers(3).value(), Shape{7});
}

// Sums and products of damaged numbers would overflow.
TEST(OperatorCall, RefusesWhatNoMemoryHolds) {
  const OperatorCall call =
      call_with("[[9223372036854775807], [0, 1000000000, 1000000000], [2, -9223372036854775808]]",
                R"(["9223372036854775807", "[4000000000]", "1e308", "-inf", "nan"])");
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_FALSE(call.shape(i).ok()) << i;
  EXPECT_FALSE(call.integers(0).ok());
  EXPECT_FALSE(call.integers(1).ok());
  for (const std::size_t i : {0U, 2U, 3U, 4U})
    EXPECT_FALSE(call.number(i).has_value()) << i;
}

}  // namespace
}  // namespace assay::trace
