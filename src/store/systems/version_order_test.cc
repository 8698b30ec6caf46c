#include "store/systems/version_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay::store {
namespace {

TEST(Version, IsOrderedAsPythonsPackagesAre) {
  // The first lines are PEP 440's own example, the others versions of serving engines.
  const std::vector<std::vector<std::string>> ascending = {
      {"1.dev0",
       "1.0.dev456",
       "1.0a1",
       "1.0a2.dev456",
       "1.0a12.dev456",
       "1.0a12",
       "1.0b1.dev456",
       "1.0b2",
       "1.0b2.post345.dev456",
       "1.0b2.post345",
       "1.0rc1.dev456",
       "1.0rc1",
       "1.0",
       "1.0+abc.5",
       "1.0+abc.7",
       "1.0+5",
       "1.0.post456.dev34",
       "1.0.post456",
       "1.0.15",
       "1.1.dev1"},
      {"0.5.6.post2", "0.5.9", "0.5.10", "0.5.12"},
      {"1.2.0rc5", "1.2.0rc6.post1", "1.3.0rc1", "1.3.0rc10", "1.3.0rc20", "1.3.0"},
      {"0.1.dev19262", "0.8.1.post1", "0.8.1.post3", "0.11.2", "0.14.0", "0.24.0", "1!0.1"},
      {"2.23", "2.26.2", "2.27.3", "2.29.2"},
  };
  for (const auto& versions : ascending) {
    for (std::size_t i = 0; i < versions.size(); ++i) {
      for (std::size_t j = 0; j < versions.size(); ++j) {
        const auto left = Version::parse(versions[i]);
        const auto right = Version::parse(versions[j]);
        ASSERT_TRUE(left && right) << versions[i] << " " << versions[j];
        EXPECT_EQ(*left < *right, i < j) << versions[i] << " " << versions[j];
        EXPECT_EQ(*left == *right, i == j) << versions[i] << " " << versions[j];
      }
    }
  }
}

TEST(Version, KnowsOtherSpellings) {
  const auto is_same = [](const char* a, const char* b) {
    return Version::parse(a).value() == Version::parse(b).value();
  };
  EXPECT_TRUE(is_same("1.0", "1.0.0"));
  EXPECT_TRUE(is_same("v1.0-RC_1", "1.0rc1"));
  EXPECT_TRUE(is_same("1.0preview2", "1.0c2"));
  EXPECT_TRUE(is_same("1.0-3", "1.0.post3"));
  EXPECT_TRUE(is_same("1.0.rev", "1.0.post0"));
  EXPECT_TRUE(is_same("1.0-dev", "1.0.dev0"));
  EXPECT_TRUE(is_same("01.00", "1"));
  EXPECT_TRUE(is_same("1.0+Cu-130", "1.0+cu.130"));
  EXPECT_FALSE(is_same("0", "0.0.1"));
}

TEST(Version, GivesOtherTextsNoPlace) {
  for (const std::string text : {"",
                                 "v",
                                 ".",
                                 "gpt-oss-dev",
                                 "latest",
                                 "1.",
                                 "1..2",
                                 "1.0 ",
                                 " 1.0",
                                 "1.0-",
                                 "1.0_",
                                 "1.0+",
                                 "1.0+a..b",
                                 "1.0+a.",
                                 "1.0rc1rc2",
                                 "1.0x",
                                 "1!",
                                 "!1",
                                 "1!2!3",
                                 "1.2!3",
                                 "-1",
                                 "1.0.dev1.post1",
                                 "1.0\n",
                                 "1.0/../2",
                                 "9999999999999999999",
                                 "1.0rc12345678901234567890",
                                 "1.\xff"}) {
    EXPECT_FALSE(Version::parse(text).has_value()) << text;
  }
  EXPECT_FALSE(Version::parse(std::string("1.0\0", 4)).has_value());
  EXPECT_FALSE(Version::parse(std::string(100000, '1')).has_value());
  EXPECT_TRUE(Version::parse("999999999999999999").has_value());
}

}  // namespace
}  // namespace assay::store
