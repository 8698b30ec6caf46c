#include "collect/cuda/moe_products.h"

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/product_reference.h"

namespace assay::collect {

MoeArguments MoeMemory::arguments_of(std::int64_t copy) const {
  const MoeSpec& spec = shape.spec;
  const bool is_packed = spec.type == DataType::kMxfp4;
  return {.type = shape.type,
          .product_type = is_packed ? DataType::kBfloat16 : spec.type,
          .tokens = static_cast<int>(spec.tokens),
          .hidden = static_cast<int>(spec.hidden),
          .intermediate = static_cast<int>(shape.intermediate),
          .top_k = static_cast<int>(spec.top_k),
          .experts = static_cast<int>(spec.experts),
          .local_experts = static_cast<int>(shape.local_experts),
          .row_multiple = static_cast<int>(shape.row_multiple),
          .local_rows = static_cast<int>(shape.local_rows),
          .pairs = static_cast<int>(shape.pairs),
          .logits = at(MoeBuffer::kLogits, copy),
          .input = at(MoeBuffer::kInput, copy),
          .chosen = at<std::int32_t>(MoeBuffer::kChosen, copy),
          .shares = at<float>(MoeBuffer::kShares, copy),
          .tallies = at<std::int32_t>(MoeBuffer::kTallies, copy),
          .counts = at<std::int32_t>(MoeBuffer::kCounts, copy),
          .offsets = at<std::int32_t>(MoeBuffer::kOffsets, copy),
          .cursors = at<std::int32_t>(MoeBuffer::kCursors, copy),
          .positions = at<std::int32_t>(MoeBuffer::kPositions, copy),
          .tiles = at<GroupedTile>(MoeBuffer::kTiles, copy),
          .tile_count = at<std::int32_t>(MoeBuffer::kTileCount, copy),
          .begun = at<std::int32_t>(MoeBuffer::kBegun, copy),
          .gathered = at(MoeBuffer::kGathered, copy),
          .gated = at(MoeBuffer::kGated, copy),
          .activated = at(MoeBuffer::kActivated, copy),
          .expert_output = at(MoeBuffer::kExpertOutput, copy),
          .output = at(MoeBuffer::kOutput, copy),
          .gathered_scales = at<float>(MoeBuffer::kGatheredScales, copy),
          .activated_scales = at<float>(MoeBuffer::kActivatedScales, copy)};
}

ProductArguments MoeMemory::up(std::int64_t copy) const {
  return {.input = at(MoeBuffer::kGathered, copy),
          .weight = at(MoeBuffer::kUpWeight, copy),
          .output = at(MoeBuffer::kGated, copy),
          .input_scales = at<float>(MoeBuffer::kGatheredScales, copy),
          .weight_scales = at<float>(MoeBuffer::kUpScales, copy)};
}

ProductArguments MoeMemory::down(std::int64_t copy) const {
  return {.input = at(MoeBuffer::kActivated, copy),
          .weight = at(MoeBuffer::kDownWeight, copy),
          .output = at(MoeBuffer::kExpertOutput, copy),
          .input_scales = at<float>(MoeBuffer::kActivatedScales, copy),
          .weight_scales = at<float>(MoeBuffer::kDownScales, copy)};
}

core::Result<Accuracy> compare_down_product(Gpu& gpu,
                                            const MoeMemory& memory,
                                            const LtAlgorithm& algorithm) {
  const MoeShape& shape = memory.shape;
  const ProductCheck check{.rows = shape.pairs,
                           .n = shape.spec.hidden,
                           .k = shape.intermediate,
                           .batch = shape.local_experts,
                           .type = shape.spec.type,
                           .arguments = memory.down(0),
                           .row_offsets = memory.at<std::int32_t>(MoeBuffer::kOffsets, 0),
                           .row_counts = memory.at<std::int32_t>(MoeBuffer::kCounts, 0),
                           .algorithm = algorithm};
  ASSAY_TRY(cuda_status(compare_product(check, gpu.samples(), gpu.stream()), "checking"));
  return accuracy_of_samples(gpu, samples_of(check.rows * check.n), check.n, "expert's product");
}

}  // namespace assay::collect
