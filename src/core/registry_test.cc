#include "core/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::core {
namespace {

struct Fruit {
  const char* name;
};

struct Tool {
  const char* name;
};

TEST(Registry, GivesSpecsInTheOrderOfTheirNames) {
  static const Fruit pear{"pear"};
  static const Fruit apple{"apple"};
  Registry<Fruit>::add(&pear);
  Registry<Fruit>::add(&apple);
  EXPECT_THAT(Registry<Fruit>::all(), ::testing::ElementsAre(&apple, &pear));
}

TEST(RegistryDeathTest, NoTwoSpecsShareAName) {
  static const Tool one{"saw"};
  static const Tool other{"saw"};
  Registry<Tool>::add(&one);
  Registry<Tool>::add(&other);
  EXPECT_DEATH(static_cast<void>(Registry<Tool>::all()), "two files register the name saw");
}

}  // namespace
}  // namespace assay::core
