#include "collect/kernels/kernels.h"

#include <array>
#include <utility>

namespace assay::collect {
namespace {

struct NamedType {
  std::string_view name;
  DataType type;
};

// The first name of a type is the one that is written.
constexpr std::array<NamedType, 10> kNames = {{
    {"float32", DataType::kFloat32},
    {"float16", DataType::kFloat16},
    {"bfloat16", DataType::kBfloat16},
    {"fp8", DataType::kFp8},
    {"fp8_block", DataType::kFp8Block},
    {"int8", DataType::kInt8},
    {"float", DataType::kFloat32},
    {"half", DataType::kFloat16},
    {"bf16", DataType::kBfloat16},
    {"fp16", DataType::kFloat16},
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

std::int64_t bytes_of(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return 4;
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return 2;
    case DataType::kFp8:
    case DataType::kFp8Block:
    case DataType::kInt8:
      return 1;
  }
  return 0;
}

}  // namespace assay::collect
