#include "model/data_type.h"

#include <array>

namespace assay::model {
namespace {

struct NamedType {
  std::string_view name;
  DataType type;
};

// The first name of each type is the one that is written.
constexpr std::array<NamedType, 12> kNames = {{
    {"bfloat16", DataType::kBfloat16},
    {"float16", DataType::kFloat16},
    {"float32", DataType::kFloat32},
    {"fp8", DataType::kFp8},
    {"fp8_block", DataType::kFp8Block},
    {"int8", DataType::kInt8},
    {"w4a16_mxfp4", DataType::kMxfp4},
    {"bf16", DataType::kBfloat16},
    {"fp16", DataType::kFloat16},
    {"half", DataType::kFloat16},
    {"fp32", DataType::kFloat32},
    {"float", DataType::kFloat32},
}};

}  // namespace

std::string_view name_of(DataType type) {
  for (const NamedType& named : kNames) {
    if (named.type == type) return named.name;
  }
  return "";
}

std::optional<DataType> data_type_named(std::string_view name) {
  for (const NamedType& named : kNames) {
    if (named.name == name) return named.type;
  }
  return std::nullopt;
}

}  // namespace assay::model
