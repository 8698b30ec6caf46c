#include "core/numbered.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay::core {
namespace {

struct Named {
  std::string name;
};

TEST(Numbered, CountsNamesInTheOrderInWhichTheyFirstCome) {
  const std::vector<Named> values = {{"b"}, {"a"}, {"b"}, {""}, {"a"}};
  EXPECT_THAT(numbered(values, &Named::name), testing::ElementsAre(0, 1, 0, 2, 1));
  EXPECT_THAT(numbered(std::vector<int>{7, 7, 3}), testing::ElementsAre(0, 0, 1));
  EXPECT_THAT(numbered(std::vector<int>{}), testing::IsEmpty());
}

}  // namespace
}  // namespace assay::core
