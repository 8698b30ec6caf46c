#include "store/judging/doubts.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// 40 rows of a type that take so many us, and some of another type.
WorkRows attention(const std::string& version, double us, int rows = 40) {
  std::string csv = "framework,version,kernel_source,kv_cache_dtype,batch_size,step,latency\n";
  for (int i = 0; i < rows; ++i)
    csv += fmt::format("X,{},of {},fp8,{},{},{}\n", version, version, 1 + i % 8, 64 << (i / 8),
                       1e-3 * us * (i % 7 == 0 ? 9 : 1));
  csv += fmt::format("X,{},k,bfloat16,1,64,0.001\nX,{},k,bfloat16,2,64,0.001\n", version, version);
  return make_work_rows("generation_attention_perf", frame_of(csv)).value();
}

TEST(Doubts, ASlowFamilyIsSlowerThanAllSiblings) {
  const WorkRows slow = attention("3", 40);
  const WorkRows middle = attention("2", 10);
  const WorkRows fast = attention("1", 5);
  const std::vector<SiblingTable> siblings = {{.name = "x 1", .rows = &fast},
                                              {.name = "y 2", .rows = &middle}};
  const auto found = slow_families(slow, siblings);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].reason,
            "fp8 takes 4.0 times as long as y 2, the nearest of 2 tables (40 rows)");
  EXPECT_EQ(found[0].fallback, "y 2");
  EXPECT_EQ(found[0].end - found[0].begin, 40U);
  EXPECT_THAT(slow_families(middle, std::vector<SiblingTable>{{.name = "x 1", .rows = &fast},
                                                              {.name = "x 3", .rows = &slow}}),
              IsEmpty());
  EXPECT_THAT(slow_families(slow, std::span(siblings).first(1)), IsEmpty());
}

TEST(Doubts, AFewCommonRowsTellNothing) {
  const WorkRows slow = attention("3", 40);
  const WorkRows few = attention("2", 10, 10);
  const WorkRows fast = attention("1", 5);
  EXPECT_THAT(slow_families(slow, std::vector<SiblingTable>{{.name = "x 1", .rows = &fast},
                                                            {.name = "y 2", .rows = &few}}),
              IsEmpty());
}

TEST(Doubts, RowsOfAnotherVersionThanTheFolders) {
  const WorkRows rows = attention("2.29.2", 1);
  EXPECT_THAT(version_doubts(rows, "2.29.2"), IsEmpty());
  EXPECT_THAT(version_doubts(rows, "2.26.2"),
              ElementsAre("42 of 42 rows of generation_attention_perf are of X 2.29.2, but lie in "
                          "the folder of 2.26.2"));
}

}  // namespace
}  // namespace assay::store
