#include "report/characters.h"

#include <gtest/gtest.h>

namespace assay::report {
namespace {

TEST(Characters, CountsCodePointsAndUtf16Units) {
  EXPECT_EQ(character_count(""), 0U);
  EXPECT_EQ(character_count("25 µs"), 5U);
  EXPECT_EQ(character_count("🚀x"), 2U);
  EXPECT_EQ(utf16_length("25 µs"), 5U);
  EXPECT_EQ(utf16_length("🚀x"), 3U);
}

TEST(Characters, CutsBetweenCharactersOnly) {
  EXPECT_EQ(first_characters("µµµ", 2), "µµ");
  EXPECT_EQ(first_characters("µµ", 5), "µµ");
  EXPECT_EQ(first_characters("🚀x", 1), "🚀");
  EXPECT_EQ(first_utf16_units("a🚀x", 2), "a");
  EXPECT_EQ(first_utf16_units("a🚀x", 3), "a🚀");
  EXPECT_EQ(first_utf16_units("abc", 0), "");
}

}  // namespace
}  // namespace assay::report
