// The sizes of a mixture of experts on one GPU, and its device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collect/cuda/buffers.h"
#include "collect/cuda/moe_kernels.h"
#include "collect/cuda/moe_packed.h"
#include "collect/kernels/kernels.h"
#include "collect/kernels/moe_routing.h"

namespace assay::collect {

struct MoeShape {
  MoeSpec spec;
  DataType type = DataType::kBfloat16;  // type of everything except the products
  std::int64_t local_experts = 1;
  std::int64_t intermediate = 1;
  std::int64_t row_multiple = 1;   // an expert's rows are filled up to a multiple of it
  std::vector<std::int64_t> rows;  // rows of each local expert, with padding
  std::int64_t local_rows = 0;     // sum of `rows`
  std::int64_t pairs = 0;          // number of rows without padding
};

// Returns the shape on GPU 0, which has the most tokens.
MoeShape moe_shape_of(const MoeSpec& spec, const ExpertChoice& choice);

// Returns whether Assay's grouped product reads the tokens instead of a row for each of their
// experts. Each 128 columns of the gate gather them anew, which takes longer than copies that lie
// together.
bool gathers_tokens(const MoeShape& shape);

// Returns whether it may be faster that Assay's second product adds rows to the output: where a
// token has rows of several experts here, and the L2 cache holds the output.
bool may_add_rows_up(const MoeShape& shape);

// Weights come first, so that they stay in their place from case to case.
enum class MoeBuffer : std::uint8_t {
  kUpWeight,  // gate and up
  kDownWeight,
  kUpScales,  // scales of weights of fp8_block and mxfp4
  kDownScales,
  kLogits,
  kInput,
  kChosen,
  kShares,
  kTallies,
  kCounts,
  kOffsets,
  kCursors,
  kPositions,
  kTiles,
  kTileCount,
  kBegun,
  kSources,
  kRowShares,
  kGathered,
  kGatheredScales,
  kGated,
  kActivated,
  kActivatedScales,
  kExpertOutput,
  kOutput,
  kUpAddresses,
  kDownAddresses,
  kNumBuffers,
};

// The weights of an expert in kMxfp4.
PackedWeight packed_up(const MoeShape& shape);
PackedWeight packed_down(const MoeShape& shape);

// `addresses_bytes` is the size for one product.
std::vector<BufferSpec> moe_buffers_of(const MoeShape& shape, std::size_t addresses_bytes);

}  // namespace assay::collect
