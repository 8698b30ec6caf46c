// The kernels of a mixture of experts besides its products: the choice of experts, the gathering of
// their tokens, the gated SiLU, and the weighted sum.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collect/cuda/compare.h"
#include "collect/cuda/moe_tiles.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

inline constexpr int kMostExperts = 512;

// Input and output have `type`; the inputs of products (`gathered`, `activated`) have
// `product_type`. The rows of the local experts follow each other. Each expert's rows are filled up
// to a multiple of `row_multiple`, and nobody reads the padding.
struct MoeArguments {
  DataType type = DataType::kBfloat16;
  DataType product_type = DataType::kBfloat16;
  int tokens = 1;
  int hidden = 1;
  int intermediate = 1;  // on this GPU
  int top_k = 1;
  int experts = 1;
  int local_experts = 1;  // the first ones; other GPUs have the other experts
  int row_multiple = 1;
  int local_rows = 1;                 // including padding
  int pairs = 1;                      // rows without padding: (token, local expert)
  const void* logits = nullptr;       // bfloat16 [tokens, experts]
  const void* input = nullptr;        // [tokens, hidden]
  std::int32_t* chosen = nullptr;     // [tokens, top_k]
  float* shares = nullptr;            // [tokens, top_k], factors of the weighted sum
  std::int32_t* tallies = nullptr;    // [local_experts], 0 before and after a launch
  std::int32_t* counts = nullptr;     // [local_experts], without padding
  std::int32_t* offsets = nullptr;    // [local_experts + 1]: an expert's first row
  std::int32_t* cursors = nullptr;    // [local_experts]
  std::int32_t* positions = nullptr;  // [tokens, top_k]: the row, or -1
  GroupedTile* tiles = nullptr;       // [most_tiles()]
  std::int32_t* tile_count = nullptr;
  std::int32_t* begun = nullptr;  // [2], for the items of both products; each launch clears them
  // [local_rows]: each row's token, or nullptr. With it `gathered` are the tokens [tokens, hidden]
  // that have local experts, converted for the product, or nothing if the product takes the input.
  std::int32_t* sources = nullptr;
  // [local_rows], or nullptr. With them the second product adds each row to the output of its
  // token, which routing clears, and there is no weighted sum; nobody writes `expert_output`.
  RowShare* row_shares = nullptr;
  void* gathered = nullptr;       // [local_rows, hidden]
  void* gated = nullptr;          // [local_rows, 2 intermediate]: gate, then up
  void* activated = nullptr;      // [local_rows, intermediate]
  void* expert_output = nullptr;  // [local_rows, hidden]
  void* output = nullptr;         // [tokens, hidden]
  // Only for fp8_block. ExpertScales has the layout, and TokenScales that of tokens.
  float* gathered_scales = nullptr;
  float* activated_scales = nullptr;
};

// Call it once before the first launch.
cudaError_t clear_tallies(const MoeArguments& arguments, cudaStream_t stream);

cudaError_t route_and_gather(const MoeArguments& arguments, cudaStream_t stream);
cudaError_t activate(const MoeArguments& arguments, cudaStream_t stream);
// Does nothing if the second product adds rows up.
cudaError_t combine(const MoeArguments& arguments, cudaStream_t stream);

enum class MoeStage : std::uint8_t {
  kGather,
  kGatherScales,  // only for fp8_block
  kActivate,
  kActivateScales,  // only for fp8_block
  kCombine,
};

// Returns the number of columns of the stage's output.
std::int64_t stage_columns(const MoeArguments& arguments, MoeStage stage);
// The number of elements of the stage's output without padding. It is tokens * top_k * columns for
// kGather and kGatherScales.
std::int64_t stage_elements(const MoeArguments& arguments, MoeStage stage);
// Writes samples_of(stage_elements()) samples.
cudaError_t compare_stage(const MoeArguments& arguments,
                          MoeStage stage,
                          Sample* samples,
                          cudaStream_t stream);

}  // namespace assay::collect
