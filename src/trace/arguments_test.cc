#include "trace/arguments.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::trace {
namespace {

TEST(Arguments, ReadShapes) {
  EXPECT_EQ(python_repr_json("[[2, 3], [], null, true, 1.5, \"x\"]", Brackets::kTuple),
            "((2, 3), (), None, True, 1.5, 'x')");
}

// A thousand brackets would be a thousand calls deep.
TEST(Arguments, NestedBeyondAnyShapeAreNone) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(parse_arguments(nested(60)).size(), 1U);
  EXPECT_TRUE(parse_arguments(nested(1'000'000)).empty());
}

}  // namespace
}  // namespace assay::trace
