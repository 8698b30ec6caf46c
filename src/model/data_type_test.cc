#include "model/data_type.h"

#include <gtest/gtest.h>

#include "model/perf.h"

namespace assay::model {
namespace {

TEST(DataType, EachNameIsReadAsItsType) {
  for (int number = 0; number < 6; ++number) {
    const auto type = static_cast<DataType>(number);
    EXPECT_FALSE(name_of(type).empty()) << number;
    EXPECT_EQ(data_type_named(name_of(type)), type) << number;
  }
  EXPECT_EQ(data_type_named("half"), DataType::kFloat16);
  EXPECT_EQ(data_type_named("bf16"), DataType::kBfloat16);
  EXPECT_EQ(data_type_named("float"), DataType::kFloat32);
  EXPECT_EQ(data_type_named("fp32"), DataType::kFloat32);
  EXPECT_EQ(data_type_named("float64"), std::nullopt);
}

TEST(DataType, HasBytes) {
  EXPECT_EQ(bytes_of(DataType::kFloat32), 4);
  EXPECT_EQ(bytes_of(DataType::kFloat16), 2);
  EXPECT_EQ(bytes_of(DataType::kBfloat16), 2);
  EXPECT_EQ(bytes_of(DataType::kFp8), 1);
  EXPECT_EQ(bytes_of(DataType::kFp8Block), 1);
  EXPECT_EQ(bytes_of(DataType::kInt8), 1);
}

TEST(Launch, HasNames) {
  EXPECT_EQ(name_of(Launch::kGraph), "graph");
  EXPECT_EQ(name_of(Launch::kEager), "eager");
  EXPECT_EQ(launch_named("eager"), Launch::kEager);
  EXPECT_EQ(launch_named("graph"), Launch::kGraph);
  EXPECT_EQ(launch_named("both"), std::nullopt);
}

}  // namespace
}  // namespace assay::model
