#include "model/facts.h"

#include <gtest/gtest.h>

namespace assay::model {
namespace {

Facts facts() {
  return {{.item = "driver", .value = std::string("580.159.04")},
          {.item = "SM clock under load",
           .value = std::int64_t{1980},
           .unit = "MHz",
           .compare = Fact::Compare::kWithin,
           .tolerance_percent = 3},
          {.item = "temperature",
           .value = std::int64_t{40},
           .unit = "C",
           .compare = Fact::Compare::kNot}};
}

TEST(Facts, SurviveTheirTable) {
  const Table table = facts_table(facts());
  const Facts read = facts_of(&table);
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[0].compare, Fact::Compare::kExactly);
  EXPECT_EQ(read[1].compare, Fact::Compare::kWithin);
  EXPECT_DOUBLE_EQ(read[1].tolerance_percent, 3);
  EXPECT_EQ(read[1].unit, "MHz");
  EXPECT_EQ(read[2].compare, Fact::Compare::kNot);
  EXPECT_TRUE(differences(facts(), read).empty());
}

TEST(Facts, DifferBeyondTheirTolerance) {
  Facts other = facts();
  other[0].value = std::string("570.1");
  other[1].value = std::int64_t{1950};  // 1.5 % lower
  other[2].value = std::int64_t{80};
  ASSERT_EQ(differences(facts(), other).size(), 1U);
  EXPECT_EQ(differences(facts(), other)[0].item, "driver");
  EXPECT_EQ(differences(facts(), other)[0].second, "570.1");
  other[1].value = std::int64_t{1200};
  ASSERT_EQ(differences(facts(), other).size(), 2U);
  EXPECT_EQ(differences(facts(), other)[1].first, "1980 MHz");
}

TEST(Facts, MissingItemsAreUnknown) {
  Facts fewer = facts();
  fewer.erase(fewer.begin());
  EXPECT_EQ(differences(facts(), fewer)[0].second, "(unknown)");
  EXPECT_EQ(differences(fewer, facts())[0].first, "(unknown)");
  EXPECT_TRUE(differences(facts(), {}).empty());
}

}  // namespace
}  // namespace assay::model
