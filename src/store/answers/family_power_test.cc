#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "store/answers/work_index.h"
#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

WorkIndex products_with(const std::string& rows) {
  auto index =
      WorkIndex::make("gemm_perf", frame_of("gemm_dtype,m,n,k,latency,power\n" + rows), nullptr);
  EXPECT_TRUE(index.ok()) << (index.ok() ? "" : index.error().message);
  return std::move(index).value();
}

std::optional<RowPower> power_at(const WorkIndex& index, double m) {
  const Family& family = index.family(0);
  // Sizes are in the order of the columns: m, n, k.
  const std::array<double, 3> sizes = {m, 64, 64};
  return family.power(family.at(sizes, Beyond::kExtrapolate));
}

TEST(FamilyPower, IsThatOfTheRowOrBetweenRowsThatHaveTheirs) {
  const WorkIndex index = products_with(
      "fp8,1,64,64,0.10,300\nfp8,4,64,64,0.11,\nfp8,16,64,64,0.12,500\nfp8,64,64,64,0.2,\n");
  const auto own = power_at(index, 1);
  ASSERT_TRUE(own.has_value());
  EXPECT_DOUBLE_EQ(own->watts, 300);
  EXPECT_TRUE(own->is_measured);
  // 4 is half way from 1 to 16, in doublings.
  const auto between = power_at(index, 4);
  ASSERT_TRUE(between.has_value());
  EXPECT_NEAR(between->watts, 400, 1e-9);
  EXPECT_FALSE(between->is_measured);
  const auto no_row = power_at(index, 2);
  ASSERT_TRUE(no_row.has_value());
  EXPECT_GT(no_row->watts, 300);
  EXPECT_LT(no_row->watts, 500);
  EXPECT_FALSE(no_row->is_measured);
}

TEST(FamilyPower, IsUnknownWhereNoRowBesideTellsIt) {
  const WorkIndex index = products_with(
      "fp8,1,64,64,0.10,300\nfp8,16,64,64,0.12,500\nfp8,64,64,64,0.2,\nfp8,256,64,64,0.5,0\n");
  EXPECT_FALSE(power_at(index, 64).has_value());
  EXPECT_FALSE(power_at(index, 256).has_value());  // 0: no counter
  EXPECT_FALSE(power_at(index, 100000).has_value());
  const WorkIndex none = products_with("fp8,1,64,64,0.10,\nfp8,16,64,64,0.12,0\n");
  EXPECT_FALSE(power_at(none, 1).has_value());
}

}  // namespace
}  // namespace assay::store
