#include "core/counted.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace assay::core {
namespace {

TEST(Counted, OnlyOneIsSingular) {
  EXPECT_EQ(counted(std::size_t{0}, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(std::int64_t{2}, "row"), "2 rows");
  EXPECT_EQ(counted(1U, "process", "processes"), "1 process");
  EXPECT_EQ(counted(3U, "process", "processes"), "3 processes");
}

}  // namespace
}  // namespace assay::core
