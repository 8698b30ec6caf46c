// Assay's products of a mixture's experts on Hopper: one launch for all experts, whose blocks take
// one tile after another. The tokens are the narrow side of a tile, so that few tokens of an expert
// cost no more than reading its weight.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "collect/cuda/moe_tiles.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

// Output [rows, columns] = input [rows, k] x weight [experts, n, k] transposed. With an activation,
// the weight has the rows of the gate and then those of the up projection, n = 2 columns, and the
// output is SiLU(gate) * up in the type of the input; fp8_block gets a scale for each 128 columns.
// Otherwise the output has n columns of bfloat16; kAdd adds each row, times its share, to that of
// its token.
struct GroupedArguments {
  CUtensorMap weight;
  CUtensorMap inputs[kTileWidths.size()];
  const char* packed_weight;  // instead of `weight` for mxfp4; moe_packed.h has the layout
  const char* packed_scales;
  // If there are sources, `input` has the tokens instead, and a row is that of its token.
  const char* input;
  const std::int32_t* sources;
  const float* input_scales;   // of fp8_block; ExpertScales has the layout, of tokens TokenScales
  const float* weight_scales;  // of fp8_block; WeightScales has it
  const GroupedTile* tiles;
  const std::int32_t* tile_count;
  std::int32_t* begun;  // 0 before the launch: how many items blocks took after their first ones
  void* output;
  const RowShare* row_shares;  // of kAdd
  float* output_scales;        // of fp8_block with an activation
  std::int32_t n;
  std::int32_t k;
  std::int32_t columns;
};

enum class GroupedEpilogue : std::uint8_t { kStore, kActivate, kAdd };

// The rows of all experts, or the tokens from which they are gathered. mxfp4 has no such product,
// nor has any type without an activation.
enum class GroupedInput : std::uint8_t { kRows, kTokens };

// Where the operands lie. The number of rows covers all experts, padding included, or the tokens.
struct GroupedOperands {
  DataType type = DataType::kBfloat16;  // kBfloat16, kFp8, kFp8Block or kMxfp4
  GroupedEpilogue epilogue = GroupedEpilogue::kStore;
  std::int64_t experts = 1;
  std::int64_t rows = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  const void* input = nullptr;
  const void* weight = nullptr;         // packed for mxfp4
  const void* weight_scales = nullptr;  // of fp8_block and mxfp4
};

// Describes the operands to the copy engine; the pointers of the result are left to the caller.
// Fails if the driver has no such descriptions.
cudaError_t describe(const GroupedOperands& operands, GroupedArguments& arguments);

// Enqueues the product. `type` and `epilogue` are those of the operands.
cudaError_t enqueue_grouped(const GroupedArguments& arguments,
                            DataType type,
                            GroupedEpilogue epilogue,
                            int multiprocessors,
                            cudaStream_t stream);

}  // namespace assay::collect
