#include "model/serving/regex.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

namespace assay::serving {
namespace {

std::string text_of(const std::string& pattern, const std::string& text) {
  const auto regex = Regex::of(pattern);
  if (!regex.ok()) return regex.error().message;
  const auto matches = regex.value().matches(text);
  if (!matches.ok()) return matches.error().message;
  return matches.value() ? "matches" : "does not match";
}

TEST(Regex, MatchesFromTheStartOfATextOn) {
  EXPECT_EQ(text_of("a+b", "aab, and more"), "matches");
  EXPECT_EQ(text_of("b", "ab"), "does not match");
  EXPECT_EQ(text_of("a$", "ab"), "does not match");
  EXPECT_EQ(text_of("", ""), "matches");
}

TEST(Regex, ReadsWhatPythonReads) {
  EXPECT_EQ(text_of(R"((?i)(?P<part>LAYER)\.\d{1,2}\.(?P=part)$)", "layer.12.layer"), "matches");
  EXPECT_EQ(text_of(R"((?!.*(?=visual)).*(?<=up_)proj\Z)", "mlp.up_proj"), "matches");
  EXPECT_EQ(text_of("[]a]+$", "a]"), "matches");
  EXPECT_EQ(text_of(R"(layers\.\d{,2}\.[{,]\{,)", "layers.12.{{,"), "matches");
  EXPECT_EQ(text_of(R"(layers\.\d{,2}\.)", "layers.123."), "does not match");
  for (const char* flags : {"(?a)", "(?u)", "(?ai)", "(?ia)"})
    EXPECT_EQ(text_of(fmt::format("{}[(?a]\\w+\\.(?a:[a-z]+)$", flags), "aa.bb"), "matches")
        << flags;
  EXPECT_EQ(text_of("(?a)A$", "a"), "does not match");
  EXPECT_EQ(text_of("(?ai)A$", "a"), "matches");
  EXPECT_EQ(text_of("(?# a comment)a(?:b|c)*?$", "abc"), "matches");
}

TEST(Regex, SaysWhatItCannotRead) {
  EXPECT_EQ(text_of("a(b", ""),
            "the regular expression 'a(b' cannot be read: missing closing parenthesis at "
            "character 4");
  EXPECT_EQ(text_of("((.?){99}){99}", ""),
            "the regular expression '((.?){99}){99}' cannot be read: regular expression is too "
            "large at character 15");
}

TEST(Regex, GivesUp) {
  const std::string name(60, 'a');
  for (const char* pattern :
       {"(a*)*(a*)*(a*)*b$|x", "(a|aa)*c?b$|x", "(.*)(.*)(.*)(.*)(.*)(.*)b$|x"})
    EXPECT_EQ(
        text_of(pattern, name),
        fmt::format("the regular expression '{}' cannot be matched with '{}': match limit exceeded",
                    pattern, name));
}

}  // namespace
}  // namespace assay::serving
