#include "collect/cuda/moe_buffers.h"

#include <gtest/gtest.h>

#include "collect/kernels/block_scales.h"

namespace assay::collect {
namespace {

MoeSpec spec_of(DataType type) {
  return {.tokens = 23,
          .hidden = 384,
          .intermediate = 1024,
          .top_k = 8,
          .experts = 64,
          .tp = 4,
          .ep = 2,
          .routing = Routing::kPowerLaw,
          .exponent = 1.2,
          .type = type};
}

std::size_t bytes_of(const std::vector<BufferSpec>& buffers, MoeBuffer buffer) {
  return buffers[static_cast<std::size_t>(buffer)].bytes;
}

std::int64_t input_scales(const MoeShape& shape, std::int64_t k) {
  std::int64_t scales = 0;
  for (const std::int64_t rows : shape.rows)
    scales += InputScales{rows, k}.count();
  return scales;
}

TEST(MoeBuffers, BlockScalesFillEachExpertsRowsUp) {
  const MoeSpec spec = spec_of(DataType::kFp8Block);
  const ExpertChoice choice = choose_experts(spec);
  const MoeShape shape = moe_shape_of(spec, choice);
  ASSERT_EQ(shape.rows.size(), 32U);
  std::int64_t all = 0;
  bool has_filling = false;
  bool has_empty = false;
  for (std::size_t expert = 0; expert < shape.rows.size(); ++expert) {
    const std::int64_t rows = shape.rows[expert];
    const std::int64_t tokens = choice.tokens_of_expert[expert];
    EXPECT_EQ(rows % 4, 0);
    EXPECT_GE(rows, tokens);
    EXPECT_LT(rows, tokens + 4);
    has_filling = has_filling || rows > tokens;
    has_empty = has_empty || rows == 0;
    all += rows;
  }
  EXPECT_TRUE(has_filling);
  EXPECT_TRUE(has_empty);
  EXPECT_EQ(shape.local_rows, all);
  EXPECT_EQ(shape.pairs, choice.tokens_of_gpu(0, spec.ep));
}

TEST(MoeBuffers, ScalesHaveRoomForEachExpertsMatrix) {
  const MoeSpec spec = spec_of(DataType::kFp8Block);
  const MoeShape shape = moe_shape_of(spec, choose_experts(spec));
  EXPECT_EQ(shape.intermediate, 256);
  const auto buffers = moe_buffers_of(shape, 0);
  EXPECT_EQ(bytes_of(buffers, MoeBuffer::kGatheredScales), 4 * input_scales(shape, 384));
  EXPECT_EQ(bytes_of(buffers, MoeBuffer::kActivatedScales), 4 * input_scales(shape, 256));
  // The weights are 512 x 384 and 384 x 256: 4 and 3 rows of blocks, each filled up to 4 scales.
  EXPECT_EQ(bytes_of(buffers, MoeBuffer::kUpScales), 32 * 4 * 4 * sizeof(float));
  EXPECT_EQ(bytes_of(buffers, MoeBuffer::kDownScales), 32 * 3 * 4 * sizeof(float));
  EXPECT_EQ(bytes_of(buffers, MoeBuffer::kGathered), 384U * shape.local_rows);
  EXPECT_EQ(bytes_of(buffers, MoeBuffer::kGated), 2U * 2 * 256 * shape.local_rows);
}

TEST(MoeBuffers, OtherTypesHaveNeitherFillingNorScales) {
  for (const DataType type : {DataType::kBfloat16, DataType::kFp8}) {
    const MoeSpec spec = spec_of(type);
    const MoeShape shape = moe_shape_of(spec, choose_experts(spec));
    EXPECT_EQ(shape.local_rows, shape.pairs);
    const auto buffers = moe_buffers_of(shape, 0);
    for (const MoeBuffer scales : {MoeBuffer::kUpScales, MoeBuffer::kDownScales,
                                   MoeBuffer::kGatheredScales, MoeBuffer::kActivatedScales})
      EXPECT_EQ(bytes_of(buffers, scales), 0U);
  }
}

TEST(MoeBuffers, FourBitWeightsAreFilledUpToTiles) {
  MoeSpec spec = spec_of(DataType::kMxfp4);
  spec.intermediate = 600;  // 150 on a GPU: two tiles of rows, and three steps of k
  const MoeShape shape = moe_shape_of(spec, choose_experts(spec));
  const auto buffers = moe_buffers_of(shape, 0);
  EXPECT_EQ(bytes_of(buffers, MoeBuffer::kUpWeight), 32U * 2 * 256 * 384 / 2);
  EXPECT_EQ(bytes_of(buffers, MoeBuffer::kUpScales), 32U * 2 * 256 * 384 / 32);
  EXPECT_EQ(bytes_of(buffers, MoeBuffer::kDownWeight), 32U * 384 * 192 / 2);
  EXPECT_EQ(bytes_of(buffers, MoeBuffer::kGathered), 2U * 384 * shape.local_rows);
}

// Returns the experts of Qwen3-235B-A22B on some GPUs.
MoeShape narrow_experts(DataType type, std::int64_t tokens, std::int64_t tp, std::int64_t ep) {
  const MoeSpec spec{.tokens = tokens,
                     .hidden = 4096,
                     .intermediate = 1536,
                     .top_k = 8,
                     .experts = 128,
                     .tp = tp,
                     .ep = ep,
                     .type = type};
  return moe_shape_of(spec, choose_experts(spec));
}

TEST(GathersTokens, ManyTokensOfNarrowExperts) {
  EXPECT_TRUE(gathers_tokens(narrow_experts(DataType::kFp8Block, 512, 4, 1)));
  EXPECT_FALSE(gathers_tokens(narrow_experts(DataType::kFp8Block, 511, 4, 1)));
  EXPECT_FALSE(gathers_tokens(narrow_experts(DataType::kFp8Block, 512, 2, 1)));
  EXPECT_TRUE(gathers_tokens(narrow_experts(DataType::kBfloat16, 256, 2, 1)));
  EXPECT_FALSE(gathers_tokens(narrow_experts(DataType::kBfloat16, 256, 1, 1)));
  EXPECT_FALSE(gathers_tokens(narrow_experts(DataType::kMxfp4, 4096, 4, 1)));
  EXPECT_FALSE(gathers_tokens(narrow_experts(DataType::kFloat16, 4096, 4, 1)));
}

TEST(GathersTokens, WhoseRowsAreMore) {
  EXPECT_TRUE(gathers_tokens(narrow_experts(DataType::kBfloat16, 4096, 2, 4)));
  EXPECT_FALSE(gathers_tokens(narrow_experts(DataType::kBfloat16, 4096, 2, 8)));
}

TEST(GathersTokens, HasRoomForTheirPlacesAndScales) {
  const MoeShape shape = narrow_experts(DataType::kFp8Block, 512, 4, 1);
  const auto buffers = moe_buffers_of(shape, 0);
  EXPECT_EQ(bytes_of(buffers, MoeBuffer::kSources), 4U * shape.local_rows);
  EXPECT_GE(bytes_of(buffers, MoeBuffer::kGathered), 512U * 4096);
  EXPECT_GE(bytes_of(buffers, MoeBuffer::kGatheredScales), 512U * 32 * 4);
}

TEST(MayAddRowsUp, WhereTokensHaveRowsAndTheOutputIsSmall) {
  EXPECT_TRUE(may_add_rows_up(narrow_experts(DataType::kFp8Block, 1, 4, 1)));
  EXPECT_TRUE(may_add_rows_up(narrow_experts(DataType::kBfloat16, 8192, 4, 1)));
  EXPECT_FALSE(may_add_rows_up(narrow_experts(DataType::kBfloat16, 16384, 4, 1)));
  EXPECT_TRUE(may_add_rows_up(narrow_experts(DataType::kMxfp4, 512, 1, 4)));
  EXPECT_FALSE(may_add_rows_up(narrow_experts(DataType::kMxfp4, 512, 1, 8)));
  EXPECT_FALSE(may_add_rows_up(narrow_experts(DataType::kFloat16, 512, 1, 1)));
}

TEST(MayAddRowsUp, HasRoomForTheirShares) {
  const MoeShape shape = narrow_experts(DataType::kFp8Block, 333, 4, 1);
  EXPECT_EQ(bytes_of(moe_buffers_of(shape, 0), MoeBuffer::kRowShares), 8U * shape.local_rows);
  const MoeShape other = narrow_experts(DataType::kFp8Block, 333, 1, 8);
  EXPECT_EQ(bytes_of(moe_buffers_of(other, 0), MoeBuffer::kRowShares), 0U);
}

TEST(MoeBuffers, ThereIsRoomForTheTilesOfAnyRouting) {
  for (const std::int64_t tokens : {1, 23, 1000, 5000}) {
    MoeSpec spec = spec_of(DataType::kFp8Block);
    spec.tokens = tokens;
    const MoeShape shape = moe_shape_of(spec, choose_experts(spec));
    std::int64_t tiles = 0;
    for (const std::int64_t rows : shape.rows)
      tiles += (rows + kTileTokens - 1) / kTileTokens;
    EXPECT_LE(tiles * sizeof(GroupedTile), bytes_of(moe_buffers_of(shape, 0), MoeBuffer::kTiles));
  }
}

}  // namespace
}  // namespace assay::collect
