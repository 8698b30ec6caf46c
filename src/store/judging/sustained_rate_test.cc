#include "store/judging/sustained_rate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

WorkRows products(const std::string& rows) {
  auto made = make_work_rows("gemm_perf", frame_of("gemm_dtype,m,n,k,latency\n" + rows));
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

serving::OperatorUse use_of(const std::string& type) {
  return {.op = "gemm",
          .table = "gemm_perf",
          .op_name = "gemm",
          .key = {{"gemm_dtype", model::PerfValue(type)}, {"n", std::int64_t{7}}},
          .sizes = {{"m", serving::Amount::kTokens}}};
}

// One operation for each m.
const CostBinder kCost = [](const std::vector<model::PerfField>& /*exact*/,
                            const std::vector<std::string>& sizes) {
  EXPECT_EQ(sizes.front(), "m");
  return [](std::span<const double> values) { return RowCost{.bytes = 0, .flops = values[0]}; };
};

std::optional<double> rate_of(const WorkRows& rows,
                              const std::string& type,
                              const CostBinder& cost = kCost) {
  return sustained_flops(rows, families_of(use_of(type), rows), cost);
}

// In one type 3, 4, 5, 6 and 7 operations a ms after 4 ms, and more in 3 ms at most; in the other
// too few that take long.
const WorkRows& long_and_short() {
  static const WorkRows made = products(
      "bfloat16,12,1,1,4\nbfloat16,16,1,1,4\nbfloat16,20,1,1,4\nbfloat16,24,1,1,4\n"
      "bfloat16,28,1,1,4\nbfloat16,27,1,1,3\nbfloat16,9,1,1,1\nbfloat16,8,1,1,1\n"
      "fp8,80,1,1,4\nfp8,81,1,1,4\nfp8,82,1,1,4\nfp8,83,1,1,4\n");
  return made;
}

TEST(SustainedRate, IsTheMedianOfRowsThatTakeLong) {
  EXPECT_DOUBLE_EQ(rate_of(long_and_short(), "bfloat16").value(), 5000);
}

TEST(SustainedRate, IsUnknownWhereFewRowsTellOrNoOperations) {
  EXPECT_FALSE(rate_of(long_and_short(), "fp8").has_value());
  EXPECT_FALSE(rate_of(long_and_short(), "int8").has_value());
  EXPECT_FALSE(rate_of(long_and_short(), "bfloat16", nullptr).has_value());
}

}  // namespace
}  // namespace assay::store
