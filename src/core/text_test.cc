#include "core/text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::core {
namespace {

// Python's repr() of a float writes the same, and the public tool's CSV files hold it.
TEST(Text, ShortestIsPythonsRepr) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(2048), "2048.0");
  EXPECT_EQ(shortest(1e-9), "1e-09");
  EXPECT_EQ(shortest(0.0001), "0.0001");
  EXPECT_EQ(shortest(4339477888140.245), "4339477888140.245");
  EXPECT_EQ(shortest(-0.0), "-0.0");
  EXPECT_EQ(shortest(1e16), "1e+16");
  EXPECT_EQ(shortest(std::nan("")), "nan");
}

TEST(Text, NearestSuggestsOnlyWhatIsNear) {
  const std::vector<std::string> words{"report", "compare", "collectives"};
  EXPECT_EQ(nearest("reprot", words), "report");
  EXPECT_EQ(nearest("colectives", words), "collectives");
  EXPECT_EQ(nearest("xyz", words), "");
  EXPECT_EQ(nearest("pot", words), "");
  // Half of a short word must agree; swapped letters are one edit.
  const std::vector<std::string> short_words{"fit", "goal", "NONE"};
  EXPECT_EQ(nearest("foo", short_words), "");
  EXPECT_EQ(nearest("fti", short_words), "fit");
  EXPECT_EQ(nearest("gaol", short_words), "goal");
  EXPECT_EQ(nearest("NUN", short_words), "NONE");
  EXPECT_EQ(nearest("", short_words), "");
}

TEST(Text, InvalidUtf8IsReplacedByteForByte) {
  EXPECT_EQ(valid_utf8("µs \xE2\x82\xAC \xF0\x9F\x9A\x80"), "µs € 🚀");
  EXPECT_EQ(valid_utf8("a\xFF"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");  // overlong
  EXPECT_EQ(valid_utf8("\xED\xA0\x80").size(), 9U);               // surrogate
  EXPECT_EQ(valid_utf8("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");  // cut
}

TEST(Text, JsonEscapesControlCharacters) {
  EXPECT_EQ(json_escaped("a\"b\\c\n\x01µ"), "a\\\"b\\\\c\\u000a\\u0001µ");
}

TEST(Text, JsonIsPrintable) {
  EXPECT_EQ(json_escaped("\x7F\xC2\x9B"
                         "2J\xE2\x80\xAE\t"),
            "\\u007f\\u009b2J\\u202e\\u0009");
  EXPECT_EQ(json_escaped("\xFF"), "\xFF");
}

TEST(Text, PrintableTextCommandsNoTerminal) {
  EXPECT_EQ(printable("a\tb\nµ✓🧨"), "a\tb\nµ✓🧨");
  const std::string replaced = "\xEF\xBF\xBD";
  for (const std::string_view command :
       {"\x1b", "\r", "\x07", "\b", "\x7F", "\xC2\x9B", "\xC2\x80", "\x9B", "\xE2\x80\xAA",
        "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA9"}) {
    EXPECT_EQ(printable("x" + std::string(command) + "[2J"), "x" + replaced + "[2J") << command;
  }
  for (const char* shown : {"\xC2\xA0", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\xAA"})
    EXPECT_EQ(printable(shown), shown);
}

TEST(Text, JoinsNumbers) {
  EXPECT_EQ(join(std::vector<int>{0, 2, 13}, ","), "0,2,13");
  EXPECT_EQ(join(std::vector<int>{}, ","), "");
}

TEST(Text, ContainsIgnoresCase) {
  EXPECT_TRUE(contains_ignoring_case("ncclDevKernel", "NCCL"));
  EXPECT_FALSE(contains_ignoring_case("nvjet", "nccl"));
}

TEST(Characters, CountsCodePointsAndUtf16Units) {
  EXPECT_EQ(character_count(""), 0U);
  EXPECT_EQ(character_count("25 µs"), 5U);
  EXPECT_EQ(character_count("🚀x"), 2U);
  EXPECT_EQ(utf16_length("25 µs"), 5U);
  EXPECT_EQ(utf16_length("🚀x"), 3U);
}

TEST(Characters, WrapsBetweenWords) {
  EXPECT_EQ(wrapped("one two  three", 9, 2, 2), "one two\n  three");
  EXPECT_EQ(wrapped("µµµ µµµ", 7, 0, 0), "µµµ µµµ");
  EXPECT_EQ(wrapped("a /path/that/is/long b", 8, 1, 1), "a\n /path/that/is/long\n b");
  EXPECT_EQ(wrapped("", 8, 1, 1), "");
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
}  // namespace assay::core
