#include "model/warnings.h"

#include <gtest/gtest.h>

namespace assay::model {
namespace {

TEST(Warnings, OneForEachCauseWithItsCountAndWholeSum) {
  Warnings first;
  first.add("kernels leaked", "not counted", "rank 0", 182, 13.1);
  Warnings second;
  second.add("kernels leaked", "not counted", "rank 1", 3, 0.4);
  second.add("negative duration", "counted as 0", "x");
  first.merge(second);
  ASSERT_EQ(first.all().size(), 2U);
  EXPECT_EQ(first.all()[0].count, 185);
  EXPECT_EQ(first.all()[0].example, "rank 0");
  EXPECT_EQ(first.all()[0].whole_effect(), "not counted; 13.500 ms of GPU work in all");
  EXPECT_EQ(first.all()[1].whole_effect(), "counted as 0");
  EXPECT_EQ(first.all()[0].sentence(),
            "kernels leaked, 185 times: not counted; 13.500 ms of GPU work in all (first: rank 0)");
  EXPECT_EQ(first.all()[1].sentence(), "negative duration: counted as 0 (x)");
}

}  // namespace
}  // namespace assay::model
