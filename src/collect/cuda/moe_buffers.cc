#include "collect/cuda/moe_buffers.h"

#include <algorithm>
#include <utility>

#include "collect/cuda/moe_packed.h"
#include "collect/kernels/block_scales.h"

namespace assay::collect {
namespace {

// Weights are so small that no sum overflows and no conversion cuts one. Where weights have scales,
// this holds for the product of both.
constexpr float kWeightSize = 0.0625F;

Fill weights(DataType type, std::uint32_t seed) {
  const float amplitude = type == DataType::kFp8Block ? 1.0F : kWeightSize;
  return {.kind = Fill::Kind::kUniform, .type = type, .amplitude = amplitude, .seed = seed};
}

Fill weight_scales(std::uint32_t seed) {
  return {.kind = Fill::Kind::kUniform,
          .type = DataType::kFloat32,
          .amplitude = kWeightSize / 2,
          .offset = kWeightSize,
          .seed = seed};
}

Fill any_bytes(std::uint32_t seed) {
  return {.kind = Fill::Kind::kUniform, .type = DataType::kInt8, .amplitude = 127, .seed = seed};
}

// Scales of mxfp4 from 2^-8 to 2^-2.
Fill exponents(std::uint32_t seed) {
  return {.kind = Fill::Kind::kUniform,
          .type = DataType::kInt8,
          .amplitude = 3,
          .offset = kScaleExponentBias - 5,
          .seed = seed};
}

class Plan {
 public:
  explicit Plan(const MoeShape& shape)
      : shape_(shape), buffers_(static_cast<std::size_t>(MoeBuffer::kNumBuffers)) {}

  std::vector<BufferSpec> make(std::size_t addresses_bytes) {
    if (shape_.spec.type == DataType::kMxfp4) {
      add_packed_weights();
    } else {
      add_weights();
    }
    add_routing();
    add_activations();
    if (shape_.spec.type == DataType::kFp8Block) add_scales();
    set_weight(MoeBuffer::kUpAddresses, static_cast<std::int64_t>(addresses_bytes));
    set_weight(MoeBuffer::kDownAddresses, static_cast<std::int64_t>(addresses_bytes));
    return std::move(buffers_);
  }

 private:
  void set(MoeBuffer buffer, std::int64_t bytes, const Fill& fill = {}) {
    buffers_[static_cast<std::size_t>(buffer)] = {static_cast<std::size_t>(bytes), fill};
  }

  // Of a weight, a launch reads the part of the experts that have tokens.
  void set_weight(MoeBuffer buffer, std::int64_t bytes, const Fill& fill = {}) {
    const auto& rows = shape_.rows;
    const auto drawn = std::count_if(rows.begin(), rows.end(),
                                     [](std::int64_t of_expert) { return of_expert > 0; });
    buffers_[static_cast<std::size_t>(buffer)] = {
        static_cast<std::size_t>(bytes), fill, BufferRole::kWeight,
        static_cast<std::size_t>(bytes / shape_.local_experts * drawn)};
  }

  void add_weights() {
    const MoeSpec& spec = shape_.spec;
    const std::int64_t bytes =
        shape_.local_experts * shape_.intermediate * spec.hidden * bytes_of(spec.type);
    set_weight(MoeBuffer::kUpWeight, 2 * bytes, weights(spec.type, 1));
    set_weight(MoeBuffer::kDownWeight, bytes, weights(spec.type, 2));
  }

  void add_packed_weights() {
    const PackedWeight up = packed_up(shape_);
    const PackedWeight down = packed_down(shape_);
    const std::int64_t experts = shape_.local_experts;
    set_weight(MoeBuffer::kUpWeight, experts * up.bytes(), any_bytes(1));
    set_weight(MoeBuffer::kDownWeight, experts * down.bytes(), any_bytes(2));
    set_weight(MoeBuffer::kUpScales, experts * up.scale_bytes(), exponents(4));
    set_weight(MoeBuffer::kDownScales, experts * down.scale_bytes(), exponents(5));
  }

  void add_routing() {
    const MoeSpec& spec = shape_.spec;
    const std::int64_t choices = spec.tokens * spec.top_k;
    set(MoeBuffer::kLogits, spec.tokens * spec.experts * 2);
    set(MoeBuffer::kChosen, choices * 4);
    set(MoeBuffer::kShares, choices * 4);
    set(MoeBuffer::kTallies, shape_.local_experts * 4);
    set(MoeBuffer::kCounts, shape_.local_experts * 4);
    set(MoeBuffer::kOffsets, (shape_.local_experts + 1) * 4);
    set(MoeBuffer::kCursors, shape_.local_experts * 4);
    set(MoeBuffer::kPositions, choices * 4);
    const std::int64_t tiles = most_tiles(shape_.local_rows, shape_.local_experts);
    set(MoeBuffer::kTiles, tiles * static_cast<std::int64_t>(sizeof(GroupedTile)));
    set(MoeBuffer::kTileCount, 4);
    set(MoeBuffer::kBegun, 2 * 4);
    if (gathers_tokens(shape_)) set(MoeBuffer::kSources, shape_.local_rows * 4);
    if (may_add_rows_up(shape_))
      set(MoeBuffer::kRowShares, shape_.local_rows * static_cast<std::int64_t>(sizeof(RowShare)));
  }

  void add_activations() {
    const MoeSpec& spec = shape_.spec;
    const std::int64_t element = bytes_of(spec.type);
    const std::int64_t wide = bytes_of(shape_.type);
    set(MoeBuffer::kInput, spec.tokens * spec.hidden * wide,
        {.kind = Fill::Kind::kUniform, .type = shape_.type, .seed = 3});
    set(MoeBuffer::kGathered, shape_.local_rows * spec.hidden * element);
    set(MoeBuffer::kGated, 2 * shape_.local_rows * shape_.intermediate * wide);
    set(MoeBuffer::kActivated, shape_.local_rows * shape_.intermediate * element);
    set(MoeBuffer::kExpertOutput, shape_.local_rows * spec.hidden * wide);
    set(MoeBuffer::kOutput, spec.tokens * spec.hidden * wide);
  }

  void add_scales() {
    const std::int64_t hidden = shape_.spec.hidden;
    const std::int64_t experts = shape_.local_experts;
    const WeightScales up{2 * shape_.intermediate, hidden};
    const WeightScales down{hidden, shape_.intermediate};
    set_weight(MoeBuffer::kUpScales, experts * up.count() * 4, weight_scales(4));
    set_weight(MoeBuffer::kDownScales, experts * down.count() * 4, weight_scales(5));
    const std::int64_t of_tokens =
        gathers_tokens(shape_) ? shape_.spec.tokens * TokenScales{hidden}.pitch() : 0;
    set(MoeBuffer::kGatheredScales,
        std::max(shape_.local_rows * scale_blocks(hidden), of_tokens) * 4);
    set(MoeBuffer::kActivatedScales, shape_.local_rows * scale_blocks(shape_.intermediate) * 4);
  }

  const MoeShape& shape_;
  std::vector<BufferSpec> buffers_;
};

}  // namespace

MoeShape moe_shape_of(const MoeSpec& spec, const ExpertChoice& choice) {
  MoeShape shape;
  shape.spec = spec;
  shape.type = spec.type == DataType::kFloat16 ? DataType::kFloat16 : DataType::kBfloat16;
  shape.local_experts = spec.experts / spec.ep;
  shape.intermediate = spec.intermediate / spec.tp;
  shape.row_multiple = spec.type == DataType::kFp8Block ? round_up_to_4(1) : 1;
  for (std::int64_t expert = 0; expert < shape.local_experts; ++expert) {
    const std::int64_t count = choice.tokens_of_expert[static_cast<std::size_t>(expert)];
    const std::int64_t parts = (count + shape.row_multiple - 1) / shape.row_multiple;
    shape.rows.push_back(parts * shape.row_multiple);
    shape.local_rows += shape.rows.back();
    shape.pairs += count;
  }
  return shape;
}

bool gathers_tokens(const MoeShape& shape) {
  const MoeSpec& spec = shape.spec;
  const bool is_possible = spec.type == DataType::kBfloat16 || spec.type == DataType::kFp8 ||
                           spec.type == DataType::kFp8Block;
  // These were the faster ones on an H200. Tokens that the L2 cache does not hold may be gathered
  // fewer times.
  const bool in_blocks = spec.type == DataType::kFp8Block;
  constexpr std::int64_t kMostKeptBytes = std::int64_t{32} << 20U;
  const bool are_kept = spec.tokens * spec.hidden * bytes_of(spec.type) <= kMostKeptBytes;
  const std::int64_t most_columns = in_blocks || !are_kept ? 512 : 1024;
  const std::int64_t least_tokens = in_blocks ? 512 : 256;
  return is_possible && shape.intermediate <= most_columns && spec.tokens >= least_tokens &&
         shape.pairs >= 2 * spec.tokens;
}

bool may_add_rows_up(const MoeShape& shape) {
  const MoeSpec& spec = shape.spec;
  constexpr std::int64_t kMostOutputBytes = std::int64_t{72} << 20U;
  return spec.type != DataType::kFloat16 && 2 * shape.pairs >= 3 * spec.tokens &&
         spec.tokens * spec.hidden * bytes_of(shape.type) <= kMostOutputBytes;
}

PackedWeight packed_up(const MoeShape& shape) {
  return {.rows = shape.intermediate, .parts = 2, .k = shape.spec.hidden};
}

PackedWeight packed_down(const MoeShape& shape) {
  return {.rows = shape.spec.hidden, .parts = 1, .k = shape.intermediate};
}

std::vector<BufferSpec> moe_buffers_of(const MoeShape& shape, std::size_t addresses_bytes) {
  return Plan(shape).make(addresses_bytes);
}

}  // namespace assay::collect
