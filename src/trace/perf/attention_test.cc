#include "trace/perf/model_test_util.h"

namespace assay::trace {
namespace {

constexpr std::string_view kBf16Three = R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"])";

// 2 batches, 4 query heads on 2 key heads, 8 queries, 16 keys, widths 3 and 5.
RecordedCall cudnn_call(std::string_view concrete) {
  return {.name = "aten::_scaled_dot_product_cudnn_attention",
          .dims = "[[2, 4, 8, 3], [2, 2, 16, 3], [2, 2, 16, 5], [], [], [], [], [], []]",
          .types = kBf16Three,
          .concrete = concrete};
}

TEST(Attention, CountsBothProducts) {
  const Estimate e =
      estimate(cudnn_call(R"(["", "", "", "", "True", "0.5", "False", "False", ""])"));
  constexpr double kPairs = 2 * 4 * 8 * 16;
  EXPECT_EQ(e.work.flops, 2 * kPairs * (3 + 5));
  EXPECT_EQ(e.work.bytes, 2 * (2 * 8 * 4 * (3 + 5) + 2 * 16 * 2 * (3 + 5)));
  EXPECT_EQ(e.compute_spec, "matrix_bf16");
  EXPECT_EQ(parameter_text(e),
            "B=2 N_Q=8 H_Q=4 N_KV=16 H_KV=2 d_h_qk=3 d_h_v=5 dropout=0.5 causal=False "
            "flash_impl=False dtype_A_B=('c10::BFloat16', 'c10::BFloat16')");
  ASSERT_TRUE(e.backward_work.has_value());
  // dV, dP, dQ, dK and the scores again, then the sum over the two query heads of each key head.
  EXPECT_EQ(e.backward_work->flops, 2 * kPairs * (2 * 5 + 3 * 3) + 2 * 16 * 1 * (3 + 5));
  EXPECT_EQ(e.backward_work->bytes, 2 * (2 * 8 * 4 * (2 * 3 + 5) + 2 * 16 * 2 * 2 * (3 + 5)));
}

TEST(Attention, AllBackwardPassesOfPyTorchComputeTheScoresAgain) {
  RecordedCall call = cudnn_call(R"(["", "", "", "", "True", "0.", "False", "False", ""])");
  call.name = "aten::_scaled_dot_product_efficient_attention";
  constexpr double kPairs = 2 * 4 * 8 * 16;
  constexpr double kSums = 2 * 16 * 1 * (3 + 5);
  EXPECT_EQ(estimate(call).backward_work->flops, 2 * kPairs * (2 * 5 + 3 * 3) + kSums);
  call.compat = Compat::kTraceLens;
  EXPECT_EQ(estimate(call).backward_work->flops, 2 * kPairs * (2 * 5 + 2 * 3) + kSums);
}

TEST(Attention, CountsKeptPairsOfUnequalLengths) {
  // The diagonal starts at the first key, so the mask keeps a triangle of 8x8 / 2 of 8x16 pairs.
  const RecordedCall call = cudnn_call(R"(["", "", "", "", "True", "0.", "True", "False", ""])");
  EXPECT_EQ(estimate(call).work.flops, 2 * (2 * 4 * (8 * 8 / 2)) * (3 + 5));

  RecordedCall compatible = call;
  compatible.compat = Compat::kTraceLens;
  EXPECT_FALSE(try_estimate(compatible).ok());
}

TEST(Attention, AlignsFlashAttentionToTheLastKey) {
  // flash_attn records batch, length, heads, width. The mask keeps one half of 8x16 pairs whole and
  // one half of the other 8x8.
  const Estimate e = estimate({.name = "flash_attn::_flash_attn_forward",
                               .dims = "[[1, 8, 4, 3], [1, 16, 4, 3], [1, 16, 4, 3]]",
                               .types = kBf16Three,
                               .concrete = R"(["", "", "", "0.0", "0.1", "True"])"});
  EXPECT_EQ(e.work.flops, 2 * (4 * (64 + 32)) * (3 + 3));
  // The backward pass computes the scores again.
  EXPECT_EQ(e.backward_work->flops, 2 * (4 * (64 + 32)) * (2 * 3 + 3 * 3));
}

TEST(Attention, HalvesEqualLengths) {
  const Estimate e = estimate({.name = "aten::_scaled_dot_product_flash_attention",
                               .dims = "[[1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8, 4]]",
                               .types = R"(["float", "float", "float"])",
                               .concrete = R"(["", "", "", "0.", "True"])"});
  EXPECT_EQ(e.work.flops, 2 * (2 * 8 * 8) * (4 + 4) / 2.0);
  EXPECT_EQ(e.work.bytes, 4 * (4 * 8 * 2 * 4));
}

TEST(Attention, ModelsBackwardOperatorsThemselves) {
  const Estimate e = estimate({.name = "flash_attn::_flash_attn_backward",
                               .dims = "[[1, 8, 2, 4], [1, 8, 2, 4], [1, 8, 2, 4], [1, 8, 2, 4]]",
                               .types = kBf16Three});
  EXPECT_EQ(e.work.flops, 2 * (2 * 8 * 8) * (2 * 4 + 3 * 4));
  EXPECT_FALSE(e.backward_work.has_value());
}

TEST(Attention, SharesPackedTokensAmongTheShorterSequences) {
  // 20 tokens in 3 sequences, the longest of 10: the others have 5 each.
  const Estimate e =
      estimate({.name = "flash_attn::_flash_attn_varlen_forward",
                .dims = "[[20, 2, 4], [20, 2, 4], [20, 2, 4], [4], [4]]",
                .types = kBf16Three,
                .concrete = R"(["", "", "", "", "", "10", "10", "0.0", "0.5", "False"])"});
  EXPECT_EQ(e.work.flops, 2 * 2 * (10 * 10 + 2 * 5 * 5) * (4 + 4));
  EXPECT_EQ(e.work.bytes, 2 * 4 * 20 * 2 * 4);
}

TEST(Attention, FoldsEvoformerSequencesIntoTheBatch) {
  const Estimate e = estimate(
      {.name = "EvoformerAttention", .dims = "[[2, 3, 8, 4, 5]]", .types = R"(["c10::BFloat16"])"});
  EXPECT_EQ(e.work.flops, 2 * (6 * 4 * 8 * 8) * (5 + 5));
}

TEST(Attention, RejectsShapesThatDoNotFit) {
  EXPECT_FALSE(try_estimate({.name = "aten::_scaled_dot_product_flash_attention",
                             .dims = "[[1, 2, 8, 4], [1, 2, 8, 5], [1, 2, 8, 4]]",
                             .types = kBf16Three})
                   .ok());
}

}  // namespace
}  // namespace assay::trace
