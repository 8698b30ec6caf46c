// The types of elements that kernels compute with and communicate.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::model {

// The first three have the same numbers as in assay_allreduce_data_type of assay/allreduce.h.
enum class DataType : std::uint8_t {
  kBfloat16,
  kFloat16,
  kFloat32,
  kFp8,       // e4m3 with one scale for the tensor
  kFp8Block,  // e4m3 with scales for 1 x 128 activations and for 128 x 128 weights
  kInt8,
  kMxfp4,  // bfloat16 x e2m1 weights with a scale e8m0 for 32 elements along k
};

// Returns the spelling of performance tables since 2026: "bfloat16", "fp8_block".
std::string_view name_of(DataType type);
// Also reads short and old spellings ("bf16", "half"); std::nullopt for an unknown name.
std::optional<DataType> data_type_named(std::string_view name);

// Returns the bytes per element, without scales; of kMxfp4, those of the bfloat16 elements: two
// weights take a byte.
constexpr std::int64_t bytes_of(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return 4;
    case DataType::kBfloat16:
    case DataType::kFloat16:
    case DataType::kMxfp4:
      return 2;
    case DataType::kFp8:
    case DataType::kFp8Block:
    case DataType::kInt8:
      break;
  }
  return 1;
}

}  // namespace assay::model
