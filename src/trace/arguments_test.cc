#include "trace/arguments.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::trace {
namespace {

TEST(Arguments, ReprIsPythons) {
  EXPECT_EQ(python_repr_json(R"([[2, 3], [], [4]])", Brackets::kTuple), "((2, 3), (), (4,))");
  EXPECT_EQ(python_repr_json(R"([[2, 3], [], [4]])", Brackets::kList), "[[2, 3], [], [4]]");
  EXPECT_EQ(python_repr_json(R"(["c10::BFloat16", "", "1.0"])", Brackets::kTuple),
            "('c10::BFloat16', '', '1.0')");
  EXPECT_EQ(python_repr_json(R"([1.5, 1e-7, true, null])", Brackets::kList),
            "[1.5, 1e-07, True, None]");
  EXPECT_EQ(python_repr_json("", Brackets::kTuple), "");
}

TEST(Arguments, QuotesLikePython) {
  EXPECT_EQ(python_repr("plain"), "'plain'");
  EXPECT_EQ(python_repr("it's"), "\"it's\"");
  EXPECT_EQ(python_repr("it's \"so\""), R"('it\'s "so"')");
  EXPECT_EQ(python_repr("a\\b\nc"), R"('a\\b\nc')");
}

// Every bracket costs the recursive parser one call.
TEST(Arguments, NestedBeyondAnyShapeAreNone) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(parse_arguments(nested(60)).size(), 1U);
  EXPECT_TRUE(parse_arguments(nested(1'000'000)).empty());
}

TEST(Arguments, MalformedTextIsNoArguments) {
  EXPECT_TRUE(parse_arguments("[1, 2").empty());
  EXPECT_TRUE(parse_arguments("{\"a\": 1}").empty());
}

}  // namespace
}  // namespace assay::trace
