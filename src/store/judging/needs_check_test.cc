#include "store/judging/needs_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/files/csv_frame.h"

namespace assay::store {
namespace {

using testing::HasSubstr;

// Two weights of fp8 with curves over the tokens; 1 ms for 1e9 operations.
WorkIndex products() {
  std::string text = "op_name,kernel_source,gemm_dtype,m,n,k,latency\n";
  for (const std::int64_t n : {1024, 4096}) {
    for (const std::int64_t m : {1, 16, 64, 256, 1024, 4096, 8192}) {
      const double ms = 0.002 + static_cast<double>(m * n) * 4096 / 1e9;
      text += "gemm,k,fp8," + std::to_string(m) + "," + std::to_string(n) + ",4096," +
              std::to_string(ms) + "\n";
    }
  }
  model::Warnings warnings;
  const Frame frame = read_csv_frame(text, warnings).value();
  return WorkIndex::make("gemm_perf", frame, nullptr).value();
}

serving::OperatorUse product(const char* type, std::int64_t n) {
  return {.role = "projection",
          .op = "gemm",
          .table = "gemm_perf",
          .op_name = "gemm",
          .key = {{"gemm_dtype", std::string(type)}, {"n", n}, {"k", std::int64_t{4096}}},
          .sizes = {{"m", serving::Amount::kTokens}}};
}

TEST(CheckNeed, RowsOfItsOwnKeyAreThere) {
  const WorkIndex index = products();
  EXPECT_EQ(check_need(product("fp8", 1024), &index).having, Having::kThere);
}

TEST(CheckNeed, AWeightBetweenOthersIsDerivedAndSaysFromWhat) {
  const WorkIndex index = products();
  const NeedVerdict verdict = check_need(product("fp8", 2048), &index);
  EXPECT_EQ(verdict.having, Having::kDerived) << verdict.how;
  EXPECT_THAT(verdict.how, HasSubstr("curves"));
  EXPECT_GT(verdict.sigma_percent, 0);
}

TEST(CheckNeed, AnotherTypeIsMissing) {
  const WorkIndex index = products();
  const NeedVerdict verdict = check_need(product("bfloat16", 1024), &index);
  EXPECT_EQ(verdict.having, Having::kMissing);
  EXPECT_EQ(verdict.how, "no rows with these names and types");
}

TEST(CheckNeed, WithoutTheTableEverythingIsMissing) {
  EXPECT_EQ(check_need(product("fp8", 1024), nullptr).how, "no such table");
}

// Rows of the key alone are not enough: a query would refuse these sizes.
TEST(CheckNeed, SizesFarBeyondTheRowsAreMissing) {
  const WorkIndex index = products();
  serving::OperatorUse use = product("fp8", 1024);
  use.sizes = {{"m", serving::Amount::kTokens, 1 << 20}};
  const NeedVerdict verdict = check_need(use, &index);
  EXPECT_EQ(verdict.having, Having::kMissing);
  EXPECT_THAT(verdict.how, HasSubstr("beyond"));
}

}  // namespace
}  // namespace assay::store
