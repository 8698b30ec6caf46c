#include "store/answers/table_index.h"

#include <gtest/gtest.h>

#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

TableIndex table_of(const std::string& csv) {
  auto index = TableIndex::make("gemm_perf", frame_of(csv), nullptr);
  EXPECT_TRUE(index.ok());
  return std::move(index).value();
}

TEST(TableIndex, JoinsKernelsThatShareNoPlace) {
  const TableIndex index = table_of("kernel_source,m,latency\na,1,1\na,2,2\nb,3,3\nb,4,4\n");
  ASSERT_EQ(index.groups().size(), 1U);
  EXPECT_EQ(index.exact_value(index.groups()[0], 0), "a or b");
  const TableIndex apart = table_of("kernel_source,m,latency\na,1,1\na,2,2\nb,2,3\nb,4,4\n");
  EXPECT_EQ(apart.groups().size(), 2U);
}

TEST(TableIndex, CountsRowsItCannotUse) {
  const TableIndex index = table_of("m,latency\n1,0.1\n,0.2\n3,\n4,0.4\n");
  EXPECT_EQ(index.unused().count, 2);
  EXPECT_EQ(index.unused().first_row, 1U);
  EXPECT_EQ(index.groups()[0].surface.grid().points().size(), 2U);
  EXPECT_FALSE(TableIndex::make("x_perf", frame_of("m,time\n1,2\n"), nullptr).ok());
}

}  // namespace
}  // namespace assay::store
