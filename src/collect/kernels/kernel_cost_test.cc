#include "collect/kernels/kernel_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "collect/kernels/moe_routing.h"

namespace assay::collect {
namespace {

TEST(KernelCost, OfAGemmIsItsMatricesOnce) {
  const Cost cost = cost_of(GemmSpec{.m = 2, .n = 3, .k = 4});
  EXPECT_EQ(cost.bytes, (2 * 4 + 3 * 4) * 2 + 2 * 3 * 2);
  EXPECT_EQ(cost.flops, 2 * 2 * 3 * 4);
  EXPECT_EQ(cost_of(GemmSpec{.m = 2, .n = 3, .k = 4, .type = DataType::kFloat32}).bytes, 104);
  EXPECT_EQ(cost_of(GemmSpec{.m = 2, .n = 3, .k = 4, .batch = 5}).bytes, 260);
  EXPECT_EQ(cost_of(GemmSpec{.m = 2, .n = 3, .k = 4, .batch = 5}).flops, 240);
}

TEST(KernelCost, OfAQuantisedGemmHasScalesAndWritesBfloat16) {
  const Cost int8 = cost_of(GemmSpec{.m = 16, .n = 32, .k = 64, .type = DataType::kInt8});
  EXPECT_EQ(int8.bytes, 16 * 64 + 32 * 64 + 16 * 32 * 2);
  EXPECT_EQ(int8.type, DataType::kInt8);
  // 2 x 2 scales of the input, 2 x 2 of the weight, 4 bytes each.
  const Cost block = cost_of(GemmSpec{.m = 2, .n = 256, .k = 256, .type = DataType::kFp8Block});
  EXPECT_EQ(block.bytes, (2 * 256 + 16) + (256 * 256 + 16) + 2 * 256 * 2);
}

TEST(KernelCost, OfCausalAttentionCountsTheKeysThatQueriesSee) {
  const AttentionSpec spec{
      .batch = 2, .query_length = 4, .kv_length = 4, .heads = 8, .kv_heads = 2};
  EXPECT_EQ(attended_keys(spec), 1 + 2 + 3 + 4);
  const Cost cost = cost_of(spec);
  EXPECT_EQ(cost.flops, 2.0 * 10 * 2 * 8 * (128 + 128));
  EXPECT_EQ(cost.bytes, 2 * (2 * 4 * 8 * 128 * 2) + 2 * (2 * 4 * 2 * 128 * 2));
}

TEST(KernelCost, AttendedKeysAreThoseOfEachQueryAddedUp) {
  for (const std::int64_t window : {0, 1, 3, 7, 8, 9, 10, 11, 50}) {
    for (const std::int64_t queries : {1, 4, 10}) {
      const AttentionSpec spec{.query_length = queries, .kv_length = 10, .window = window};
      double expected = 0;
      for (std::int64_t i = 0; i < queries; ++i) {
        const std::int64_t seen = 10 - queries + i + 1;
        expected += static_cast<double>(window > 0 ? std::min(seen, window) : seen);
      }
      EXPECT_EQ(attended_keys(spec), expected) << "window " << window << ", queries " << queries;
    }
  }
  EXPECT_EQ(attended_keys({.query_length = 4, .kv_length = 10, .causal = false}), 40);
}

TEST(KernelCost, OfDecodingReadsTheCacheOnce) {
  AttentionSpec spec{.batch = 3, .query_length = 1, .kv_length = 1000, .heads = 32, .kv_heads = 8};
  const double query_and_output = 3 * 32 * (128 + 128) * 2;
  EXPECT_EQ(cost_of(spec).bytes, query_and_output + 3.0 * 1000 * 8 * 256 * 2);
  EXPECT_EQ(cost_of(spec).flops, 2.0 * 3 * 1000 * 32 * 256);
  spec.kv_type = DataType::kFp8;
  EXPECT_EQ(cost_of(spec).bytes, query_and_output + 3.0 * 1000 * 8 * 256);
  spec.window = 128;
  EXPECT_EQ(cost_of(spec).bytes, query_and_output + 3.0 * 128 * 8 * 256);
  EXPECT_EQ(footprint_bytes(spec), query_and_output + 3.0 * 1000 * 8 * 256);
}

TEST(KernelCost, OfNewTokensWithAnotherCacheWritesThemThereToo) {
  AttentionSpec spec{.batch = 2, .query_length = 100, .kv_length = 100, .heads = 32, .kv_heads = 8};
  const double query_and_output = 2 * 100 * 32 * 256 * 2;
  const double keys_and_values = 2 * 100 * 8 * 256;
  EXPECT_EQ(cost_of(spec).bytes, query_and_output + keys_and_values * 2);
  spec.kv_type = DataType::kFp8;
  EXPECT_EQ(cost_of(spec).bytes, query_and_output + keys_and_values * 3);
  EXPECT_EQ(footprint_bytes(spec), query_and_output + keys_and_values * 3);
  spec.latent_dim = 576;
  EXPECT_EQ(cost_of(spec).bytes, query_and_output + keys_and_values * 2 + 2 * 100 * 576 * 3);
}

TEST(KernelCost, OfLatentDecodingReadsKeysThatAreValuesToo) {
  const Cost cost = cost_of(AttentionSpec{.query_length = 1,
                                          .kv_length = 1000,
                                          .heads = 16,
                                          .kv_heads = 1,
                                          .head_dim = 576,
                                          .value_dim = 512,
                                          .values_in_keys = true});
  EXPECT_EQ(cost.bytes, 16 * 576 * 2 + 16 * 512 * 2 + 1000 * 576 * 2);
  EXPECT_EQ(cost.flops, 2.0 * 1000 * 16 * (576 + 512));
}

TEST(KernelCost, OfExpertsIsThoseThatHaveATokenOnOneGpu) {
  MoeSpec spec{
      .tokens = 4, .hidden = 256, .intermediate = 512, .top_k = 2, .experts = 8, .tp = 2, .ep = 4};
  // 8 pairs on 4 GPUs: 2 of one token, on both experts of a GPU, whose width is 512 / 2.
  const double expert = 3 * 256 * 256 * 2;
  EXPECT_EQ(cost_of(spec).bytes, 2 * expert + 2 * 1 * 256 * 2);
  EXPECT_EQ(cost_of(spec).flops, 2.0 * 3 * 2 * 256 * 256);
}

TEST(KernelCost, OfExpertsDrawnByAPowerLawIsThoseThatWereDrawn) {
  MoeSpec spec{.tokens = 16, .hidden = 4096, .intermediate = 1536, .top_k = 8, .experts = 128};
  spec.tp = 4;
  spec.type = DataType::kFp8;
  const double expert = 3.0 * 4096 * 384;
  const double tokens = 2.0 * 16 * 4096 * 2;
  EXPECT_EQ(cost_of(spec).bytes, 128 * expert + tokens);
  spec.routing = Routing::kPowerLaw;
  spec.exponent = 1.2;
  const std::vector<std::int64_t> counts = choose_experts(spec).tokens_of_expert;
  const auto drawn = 128 - std::count(counts.begin(), counts.end(), 0);
  // Between what one token needs and what all of them could.
  ASSERT_GT(drawn, 16);
  ASSERT_LT(drawn, 128);
  EXPECT_EQ(cost_of(spec).bytes, static_cast<double>(drawn) * expert + tokens);
  EXPECT_EQ(cost_of(spec).flops, 6.0 * 16 * 8 * 4096 * 384);
}

TEST(KernelCost, OfFourBitExpertsIsHalfABytePerWeightAndItsScales) {
  const MoeSpec spec{.tokens = 32,
                     .hidden = 2880,
                     .intermediate = 2880,
                     .top_k = 4,
                     .experts = 32,
                     .type = DataType::kMxfp4};
  const double expert = 3.0 * 2880 * 2880 * (0.5 + 1.0 / 32);
  EXPECT_EQ(cost_of(spec).bytes, 32 * expert + 2.0 * 32 * 2880 * 2);
  EXPECT_EQ(cost_of(spec).flops, 6.0 * 32 * 4 * 2880 * 2880);
  EXPECT_EQ(cost_of(spec).type, DataType::kBfloat16);
}

TEST(KernelCost, OfExpertsOnTheBusiestGpuIsMoreThanItsShare) {
  MoeSpec spec{.tokens = 1024, .hidden = 256, .intermediate = 256, .top_k = 8, .experts = 64};
  spec.ep = 8;
  spec.routing = Routing::kPowerLaw;
  spec.exponent = 1.2;
  const std::int64_t pairs = choose_experts(spec).tokens_of_gpu(0, spec.ep);
  ASSERT_GT(pairs, 1024);
  EXPECT_EQ(cost_of(spec).flops, 6.0 * static_cast<double>(pairs) * 256 * 256);
}

TEST(KernelCost, OfDeepSeekV3OnOneGpuIsAllItsWeights) {
  const MoeSpec spec{
      .tokens = 4096, .hidden = 7168, .intermediate = 2048, .top_k = 8, .experts = 256};
  const double weights = 256.0 * 3 * 7168 * 2048 * 2;  // 22.5 GB
  EXPECT_EQ(cost_of(spec).bytes, weights + 2.0 * 4096 * 7168 * 2);
  EXPECT_EQ(cost_of(spec).flops, 6.0 * 4096 * 8 * 7168 * 2048);
  const double between = 4096.0 * 8 * (2 * 7168 + 3 * 2048) * 2;
  EXPECT_EQ(footprint_bytes(spec), weights + between + 2.0 * 4096 * 7168 * 2);
}

TEST(KernelCost, OfExpertsInBlocksHasTheirScalesAndFilling) {
  const MoeSpec spec{.tokens = 64,
                     .hidden = 7168,
                     .intermediate = 2048,
                     .top_k = 8,
                     .experts = 256,
                     .ep = 8,
                     .type = DataType::kFp8Block};
  // Each expert's weights have a scale for 128 x 128; 64 tokens reach all 32 experts of a GPU.
  const double weights = 32.0 * 3 * 7168 * 2048 * (1 + 4.0 / (128 * 128));
  EXPECT_EQ(cost_of(spec).bytes, weights + 2.0 * 8 * 7168 * 2);
  EXPECT_EQ(cost_of(spec).flops, 6.0 * 64 * 7168 * 2048);
  // There are 64 pairs, and each expert has up to 3 rows of padding.
  const double between = (64.0 + 3 * 32) * (2 * 7168 + 3 * 2048) * 2;
  EXPECT_EQ(footprint_bytes(spec), weights + between + 2.0 * 64 * 7168 * 2);
}

TEST(KernelCost, OfMemoryOperatorsIsWhatTheyReadAndWrite) {
  using Kind = MemorySpec::Kind;
  const auto bytes = [](Kind kind) {
    return cost_of(MemorySpec{.kind = kind, .rows = 10, .columns = 100}).bytes;
  };
  EXPECT_EQ(bytes(Kind::kRmsNorm), 2 * 2000 + 200);
  EXPECT_EQ(bytes(Kind::kAddRmsNorm), 4 * 2000 + 200);
  EXPECT_EQ(bytes(Kind::kSiluMul), 3 * 2000);
  EXPECT_EQ(bytes(Kind::kAdd), 3 * 2000);
  EXPECT_EQ(bytes(Kind::kCopy), 2 * 2000);
  EXPECT_EQ(bytes(Kind::kRead), 2000);
  const MemorySpec embedding{
      .kind = Kind::kEmbedding, .rows = 1000, .columns = 100, .vocabulary = 1000};
  EXPECT_NEAR(cost_of(embedding).bytes, (1000 + 1000 * (1 - std::exp(-1))) * 200 + 4000, 1e-6);
  EXPECT_EQ(footprint_bytes(embedding), 2 * 200000 + 200000 + 4000);
}

TEST(KernelCost, OfQuantisingIsBfloat16ReadAndFp8Written) {
  EXPECT_EQ(cost_of(QuantizeSpec{.m = 128, .k = 2560}).bytes, 128 * 2560 * 3);
}

TEST(KernelCost, OfCollectivesIsWhatARankSends) {
  using model::NcclFunction;
  const auto cost = [](NcclFunction function) {
    return cost_of(CollectiveSpec{.function = function, .elements = 1 << 20, .ranks = 8});
  };
  const double size = 2 << 20;
  EXPECT_EQ(cost(NcclFunction::kAllReduce).link_bytes, 1.75 * size);
  EXPECT_EQ(cost(NcclFunction::kAllGather).link_bytes, 0.875 * size);
  EXPECT_EQ(cost(NcclFunction::kReduceScatter).link_bytes, 0.875 * size);
  EXPECT_EQ(cost(NcclFunction::kAllToAll).link_bytes, 0.875 * size);
  EXPECT_EQ(cost(NcclFunction::kSendRecv).link_bytes, size);
  EXPECT_EQ(cost_of(CollectiveSpec{.elements = 1 << 20, .ranks = 1}).link_bytes, 0);
  EXPECT_EQ(cost(NcclFunction::kAllReduce).bytes, 2 * size);
  EXPECT_EQ(cost(NcclFunction::kAllGather).bytes, 1.125 * size);
}

DeviceFacts gpu(int sm_version) {
  DeviceFacts facts;
  facts.kind = "cuda";
  facts.sm_version = sm_version;
  facts.count = 4;
  facts.memory_bytes = 10'000'000'000;
  return facts;
}

DeviceFacts cpu() {
  DeviceFacts facts;
  facts.kind = "cpu";
  return facts;
}

GemmSpec gemm(DataType type) {
  return {.m = 128, .n = 128, .k = 128, .type = type};
}

TEST(KernelLimits, ATypeNeedsItsTensorCores) {
  EXPECT_EQ(limit_of(gemm(DataType::kFp8), gpu(80)),
            "fp8 needs compute capability 8.9, this device has 8.0");
  EXPECT_EQ(limit_of(gemm(DataType::kFp8), gpu(89)), std::nullopt);
  EXPECT_EQ(limit_of(gemm(DataType::kFp8Block), gpu(89)),
            "fp8_block needs compute capability 9.0, this device has 8.9");
  EXPECT_EQ(limit_of(gemm(DataType::kInt8), gpu(80)), std::nullopt);
  EXPECT_EQ(limit_of(gemm(DataType::kBfloat16), gpu(75)),
            "bfloat16 needs compute capability 8.0, this device has 7.5");
}

TEST(KernelLimits, ACpuHasNoEightBitTypes) {
  EXPECT_EQ(limit_of(gemm(DataType::kFloat32), cpu()), std::nullopt);
  EXPECT_EQ(limit_of(gemm(DataType::kBfloat16), cpu()), std::nullopt);
  EXPECT_EQ(limit_of(gemm(DataType::kFp8), cpu()),
            "CPUs are measured in float32, bfloat16 and float16, not in fp8");
}

TEST(KernelLimits, OnlyExpertsHaveFourBitWeights) {
  EXPECT_EQ(limit_of(gemm(DataType::kMxfp4), gpu(90)), "only moe is measured in w4a16_mxfp4");
  MoeSpec moe{.hidden = 2880, .intermediate = 2880, .top_k = 4, .experts = 32};
  moe.type = DataType::kMxfp4;
  EXPECT_EQ(limit_of(moe, gpu(90)), std::nullopt);
  EXPECT_EQ(limit_of(moe, gpu(80)),
            "w4a16_mxfp4 needs compute capability 9.0, this device has 8.0");
  EXPECT_EQ(limit_of(moe, cpu()),
            "CPUs are measured in float32, bfloat16 and float16, not in w4a16_mxfp4");
}

TEST(KernelLimits, ACacheTypeCountsToo) {
  const AttentionSpec spec{.kv_type = DataType::kFp8};
  EXPECT_EQ(limit_of(spec, gpu(90)), std::nullopt);
  EXPECT_NE(limit_of(spec, gpu(80)), std::nullopt);
}

TEST(KernelLimits, BlockScalesNeedWholeBlocks) {
  GemmSpec spec = gemm(DataType::kFp8Block);
  spec.k = 192;
  EXPECT_EQ(limit_of(spec, gpu(90)), "fp8_block needs k to be a multiple of 128");
  const MoeSpec moe{.hidden = 256,
                    .intermediate = 1536,
                    .top_k = 2,
                    .experts = 8,
                    .tp = 32,
                    .type = DataType::kFp8Block};
  EXPECT_EQ(limit_of(moe, gpu(90)),
            "fp8_block needs the intermediate size of a GPU to be a multiple of 128");
}

TEST(KernelLimits, ExpertsOfBlockScalesMayHaveAnyTokens) {
  const MoeSpec moe{.tokens = 33,
                    .hidden = 2048,
                    .intermediate = 768,
                    .top_k = 8,
                    .experts = 128,
                    .tp = 2,
                    .type = DataType::kFp8Block};
  EXPECT_EQ(limit_of(moe, gpu(90)), std::nullopt);
  EXPECT_EQ(limit_of(moe, gpu(89)), "fp8_block needs compute capability 9.0, this device has 8.9");
}

TEST(KernelLimits, AReasonIsTheSameForOtherSizes) {
  GemmSpec spec = gemm(DataType::kFp8Block);
  spec.n = 192;
  const std::optional<std::string> reason = limit_of(spec, gpu(90));
  ASSERT_TRUE(reason);
  spec.n = 320;
  EXPECT_EQ(limit_of(spec, gpu(90)), reason);
}

TEST(KernelCost, OfAConvolutionIsItsChannelsInAndOutAndTheLastInputs) {
  DeltaNetSpec spec{.part = DeltaNetSpec::Part::kConvolution,
                    .batch = 2,
                    .length = 10,
                    .key_heads = 1,
                    .value_heads = 2};
  EXPECT_EQ(cost_of(spec).bytes, 512.0 * (2 * 20 + 4 + 2 * 3) * 2);
  EXPECT_EQ(cost_of(spec).flops, 512.0 * 20 * 4 * 2);
  spec.phase = DeltaNetSpec::Phase::kDecode;
  spec.length = 1;
  EXPECT_EQ(cost_of(spec).bytes, 512.0 * (2 * 2 + 4 + 2 * 2 * 3) * 2);
  EXPECT_EQ(footprint_bytes(spec), cost_of(spec).bytes);
}

TEST(KernelCost, OfADeltaRuleIsItsTokensAndItsStates) {
  DeltaNetSpec spec{.batch = 3, .length = 65, .key_heads = 1, .value_heads = 2};
  const double token = (512 + 256 + 2 * 2) * 2;
  const double states = 3.0 * 2 * 128 * 128 * 4;
  EXPECT_EQ(cost_of(spec).bytes, 3 * 65 * token + states);
  EXPECT_EQ(cost_of(spec).flops, 3.0 * 65 * 2 * 128 * 128 * 6);
  // Two chunks of 64 tokens for each request and head, with 272 bytes a token.
  EXPECT_EQ(footprint_bytes(spec), cost_of(spec).bytes + 3.0 * 2 * 128 * 272);
  spec.phase = DeltaNetSpec::Phase::kDecode;
  spec.length = 1;
  EXPECT_EQ(cost_of(spec).bytes, 3 * token + 2 * states);
  EXPECT_EQ(footprint_bytes(spec), cost_of(spec).bytes);
}

TEST(KernelLimits, TheDeltaNetNeedsHopperAndHeadsThatShareKeysEvenly) {
  DeltaNetSpec spec{.key_heads = 4, .value_heads = 8};
  EXPECT_EQ(limit_of(spec, gpu(90)), std::nullopt);
  EXPECT_EQ(limit_of(spec, gpu(89)),
            "the gated delta net needs compute capability 9.0, this device has 8.9");
  spec.value_heads = 6;
  EXPECT_EQ(limit_of(spec, gpu(90)), "value heads cannot be shared evenly by heads of keys");
}

TEST(KernelLimits, BuffersMustFitTheMemory) {
  const MoeSpec deepseek{
      .tokens = 1, .hidden = 7168, .intermediate = 2048, .top_k = 8, .experts = 256};
  EXPECT_EQ(limit_of(deepseek, gpu(90)), "needs more memory than is free (10.0 GB)");
  MoeSpec part = deepseek;
  part.ep = 4;
  EXPECT_EQ(limit_of(part, gpu(90)), std::nullopt);
  DeviceFacts unknown = gpu(90);
  unknown.memory_bytes = 0;
  EXPECT_EQ(limit_of(deepseek, unknown), std::nullopt);
}

TEST(KernelLimits, CollectivesNeedTheirGpusAndEqualParts) {
  CollectiveSpec spec{.function = model::NcclFunction::kAllGather, .elements = 1024, .ranks = 8};
  EXPECT_EQ(limit_of(spec, gpu(90)), "needs more GPUs than can be used here (4)");
  spec.ranks = 4;
  EXPECT_EQ(limit_of(spec, gpu(90)), std::nullopt);
  spec.elements = 1023;
  EXPECT_EQ(limit_of(spec, gpu(90)), "elements cannot be shared evenly by ranks");
  spec.function = model::NcclFunction::kAllReduce;
  EXPECT_EQ(limit_of(spec, gpu(90)), std::nullopt);
}

TEST(KernelLimits, HeadsAndExpertsAreSharedOutEvenly) {
  EXPECT_EQ(limit_of(AttentionSpec{.heads = 12, .kv_heads = 5}, gpu(90)),
            "query heads cannot be shared evenly by heads of keys");
  EXPECT_EQ(limit_of(MoeSpec{.top_k = 2, .experts = 10, .ep = 4}, gpu(90)),
            "experts cannot be shared evenly by GPUs");
  EXPECT_EQ(limit_of(MoeSpec{.top_k = 9, .experts = 8}, gpu(90)),
            "a token cannot go to more experts than there are");
}

}  // namespace

}  // namespace assay::collect
