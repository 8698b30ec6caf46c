#include "plan/compat/rooflines.h"

#include <gtest/gtest.h>

#include "plan/compat/compat_test_util.h"

namespace assay::plan::compat {
namespace {

TEST(CompatRooflines, AKernelThatMovesBytesHasALaunch) {
  EXPECT_DOUBLE_EQ(memory_ms(made_facts(), 5e8), 1 + 1e-3);
}

TEST(CompatRooflines, AProductIsBoundByOperationsOrBytes) {
  // 2 x 10^12 operations at 10^14, and 1 x 10^10 bytes at 10^12.
  EXPECT_DOUBLE_EQ(product_least_ms(made_facts(), Quantization::kBfloat16, 1e4, 1e4, 1e4), 20);
  EXPECT_DOUBLE_EQ(product_least_ms(made_facts(), Quantization::kFp8Block, 1, 1e5, 1e5),
                   (1e5 + 1e5 + 1e10) / 1e12 * 1000);
}

TEST(CompatRooflines, APromptComputesHalfOfItsSquare) {
  const HeadGroup group{.kv_heads = 2, .head_dim = 64};
  const double operations = 2.0 * 1e4 * 1e4 * 4 * 64;
  EXPECT_DOUBLE_EQ(prompt_attention_least_ms(made_facts(), group, 4, 1e4, 1),
                   operations / 1e14 * 1000);
}

TEST(CompatRooflines, DecodingReadsTheTokensBefore) {
  const HeadGroup group{.kv_heads = 2, .head_dim = 64};
  const double bytes = 4 * 4 * 64 + 2.0 * 2 * 999 * 64 * 2;
  EXPECT_DOUBLE_EQ(decode_attention_least_ms(made_facts(), group, 4, 1, 1000), bytes / 1e12 * 1000);
}

TEST(CompatRooflines, AWindowEndsWhatIsRead) {
  const HeadGroup group{.kv_heads = 2, .head_dim = 64, .window = 128};
  const double bytes = 4 * 4 * 64 + 2.0 * 2 * 128 * 64 * 2;
  EXPECT_DOUBLE_EQ(decode_attention_least_ms(made_facts(), group, 4, 1, 1000), bytes / 1e12 * 1000);
}

TEST(CompatRooflines, TheModuleOfLatentAttentionAbsorbsTwice) {
  const serving::Precision precision;
  const double attention = latent_decode_least_ms(made_facts(), precision, 16, 4, 1000);
  const double module = latent_module_least_ms(made_facts(), precision, 16, 4, 1000);
  EXPECT_NEAR(module - attention,
              2 * absorbing_least_ms(made_facts(), Quantization::kBfloat16, 16, 4), 1e-9);
}

TEST(CompatRooflines, FewTokensReadFewExperts) {
  const ExpertShape shape{
      .hidden = 1024, .intermediate = 512, .count = 64, .top_k = 2, .moe_ep = 4};
  // Two tokens are four pairs, of which each group of GPUs has one.
  const double numbers = 1024 * 2 + 512 * 3 + 1024.0 * 512 * 3;
  EXPECT_DOUBLE_EQ(experts_least_ms(made_facts(), Quantization::kBfloat16, shape, 2),
                   numbers * 2 / 1e12 * 1000);
}

}  // namespace
}  // namespace assay::plan::compat
