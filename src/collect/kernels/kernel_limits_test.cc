#include "collect/kernels/kernel_limits.h"

#include <gtest/gtest.h>

namespace assay::collect {
namespace {

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
