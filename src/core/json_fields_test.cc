#include "core/json_fields.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::core::fields {
namespace {

template <class Value>
std::string problem(const std::string& text) {
  const auto value = field<Value>(json::parse("{\"x\":" + text + "}"), "x");
  return value.ok() ? "" : value.error().message;
}

TEST(JsonFields, NumbersAreReadWhereTheyFit) {
  EXPECT_EQ(problem<std::int64_t>("9223372036854775807"), "");
  EXPECT_EQ(problem<std::int64_t>("9223372036854775808"), "field 'x': too large");
  EXPECT_EQ(problem<std::uint64_t>("18446744073709551615"), "");
  EXPECT_EQ(problem<std::uint64_t>("-1"), "field 'x': less than 0");
  EXPECT_EQ(problem<std::int64_t>("1.5"), "field 'x': not a whole number");
  EXPECT_EQ(problem<double>("3"), "");
  EXPECT_EQ(problem<double>("\"3\""), "field 'x': not a number");
}

TEST(JsonFields, WhatIsNullIsAbsent) {
  EXPECT_EQ(problem<std::string>("null"), "no field 'x'");
  std::int64_t kept = 7;
  EXPECT_TRUE(read(json::parse("{\"x\":null}"), "x", kept).ok());
  EXPECT_EQ(kept, 7);
}

TEST(JsonFields, ALineIsAnObjectAndItsErrorsQuoteIt) {
  const auto count = [](std::string_view line) {
    return parse_line<std::int64_t>(
        line, [](const json& object) { return field<std::int64_t>(object, "count"); });
  };
  EXPECT_EQ(count("{\"count\": 3}").value(), 3);
  EXPECT_EQ(count("{\"count\": ").error().message, "no JSON in '{\"count\": '");
  EXPECT_EQ(count("[3]").error().message, "no JSON object in '[3]'");
  EXPECT_EQ(count("{}").error().message, "no field 'count' in '{}'");
  const std::string error = count(std::string(200, 'x')).error().message;
  EXPECT_EQ(error, "no JSON in '" + std::string(120, 'x') + "...'");
}

}  // namespace
}  // namespace assay::core::fields
