#include "goal/label.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::goal {
namespace {

constexpr LabelInput kInput = {.parallelism = 2,
                               .communicator = 3,
                               .operation = 5,
                               .sequence = 1007,
                               .bytes = 4096,
                               .root = 6,
                               .source = 1,
                               .destination = 4,
                               .ranks = 8};

std::uint64_t value(std::string_view text, const LabelInput& input = kInput) {
  const auto label = label_function(text);
  EXPECT_TRUE(label.ok()) << label.error().message;
  return label.ok() ? label.value()(input).value_or(UINT64_MAX) : 0;
}

std::string error(std::string_view text) {
  const auto label = label_function(text);
  return label.ok() ? "" : label.error().message;
}

TEST(Label, BindsAsArithmeticDoes) {
  EXPECT_EQ(value("2 + 3 * 4"), 14U);
  EXPECT_EQ(value("(2 + 3) * 4"), 20U);
  EXPECT_EQ(value("20 - 5 - 3"), 12U);
  EXPECT_EQ(value("100 / 5 / 2"), 10U);
  EXPECT_EQ(value("100 / (5 / 2)"), 50U);
  EXPECT_EQ(value("17 % 10 * 2"), 14U);
  EXPECT_EQ(value("2*((3+1)*(5-3))"), 16U);
  EXPECT_EQ(value("  7\t"), 7U);
}

TEST(Label, KnowsEveryName) {
  EXPECT_EQ(value("parallelism"), 2U);
  EXPECT_EQ(value("communicator"), 3U);
  EXPECT_EQ(value("operation"), 5U);
  EXPECT_EQ(value("sequence"), 1007U);
  EXPECT_EQ(value("bytes"), 4096U);
  EXPECT_EQ(value("root"), 6U);
  EXPECT_EQ(value("source"), 1U);
  EXPECT_EQ(value("destination"), 4U);
  EXPECT_EQ(value("ranks"), 8U);
  EXPECT_EQ(value("parallelism + 100 * (sequence % 1000)"), 702U);
}

TEST(Label, DividingByZeroIsAnError) {
  EXPECT_EQ(label_function("bytes / (root - 6)").value()(kInput), std::nullopt);
  EXPECT_EQ(label_function("1 + 2 * (bytes % (root - 6))").value()(kInput), std::nullopt);
  EXPECT_NE(error("bytes / 0").find("a divisor other than 0 at character 9, not '0'"),
            std::string::npos)
      << error("bytes / 0");
  EXPECT_NE(error("bytes % (2 - 2)").find("a divisor other than 0"), std::string::npos);
  EXPECT_EQ(value("4 / (3 - 2)"), 4U);
}

TEST(Label, RegisteredOnesStandAloneOrInExpressions) {
  EXPECT_EQ(value("pair"), 1U * 8 + 4 + 1);
  EXPECT_EQ(value("10 * pair + parallelism"), 132U);
  LabelInput collective = kInput;
  collective.operation = 4;
  EXPECT_EQ(value("pair", collective), 0U);
}

TEST(Label, ErrorsPointAtWhatIsWrong) {
  EXPECT_EQ(error("sequence +"),
            "label 'sequence +': expected a number, '(' or one of parallelism communicator "
            "operation sequence bytes root source destination ranks pair at character 11, not the "
            "end");
  EXPECT_NE(error("1 + sequenc").find("at character 5, not 'sequenc'"), std::string::npos);
  EXPECT_NE(error("rootless").find("at character 1, not 'rootless'"), std::string::npos);
  EXPECT_NE(error("root_1").find("at character 1, not 'root_1'"), std::string::npos);
  EXPECT_EQ(error("(1 + 2"), "label '(1 + 2': expected ')' at character 7, not the end");
  EXPECT_EQ(error("1 2"), "label '1 2': expected an operator or the end at character 3, not '2'");
  EXPECT_EQ(error("1)"), "label '1)': expected an operator or the end at character 2, not ')'");
  EXPECT_NE(error("18446744073709551616").find("a smaller number at character 1"),
            std::string::npos);
  EXPECT_NE(error("-1").find("at character 1, not '-1'"), std::string::npos);
  EXPECT_NE(error("").find("at character 1, not the end"), std::string::npos);
}

TEST(Label, SillyLengthsAreRefusedNotRun) {
  EXPECT_NE(error(std::string(100000, '(')).find("fewer parentheses"), std::string::npos);
  std::string sum = "1";
  for (int i = 0; i < 100000; ++i)
    sum += "+1";
  EXPECT_NE(error(sum).find("fewer operators"), std::string::npos);
  EXPECT_LT(error(sum).size(), 400U);
}

}  // namespace
}  // namespace assay::goal
