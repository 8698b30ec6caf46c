#include "collect/kernels/moe_routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "collect/kernels/block_scales.h"

namespace assay::collect {
namespace {

MoeSpec spec_of(std::int64_t tokens, std::int64_t top_k, std::int64_t experts, std::int64_t ep) {
  return {.tokens = tokens, .top_k = top_k, .experts = experts, .ep = ep};
}

void expect_sound(const MoeSpec& spec) {
  SCOPED_TRACE(testing::Message() << spec.tokens << " tokens, top " << spec.top_k << " of "
                                  << spec.experts << ", ep " << spec.ep);
  const ExpertChoice choice = choose_experts(spec);
  ASSERT_EQ(choice.experts.size(), static_cast<std::size_t>(spec.tokens * spec.top_k));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(spec.experts));
  for (std::int64_t token = 0; token < spec.tokens; ++token) {
    const auto begin = choice.experts.begin() + token * spec.top_k;
    const std::set<std::int32_t> different(begin, begin + spec.top_k);
    ASSERT_EQ(different.size(), static_cast<std::size_t>(spec.top_k)) << "token " << token;
    ASSERT_GE(*different.begin(), 0);
    ASSERT_LT(*different.rbegin(), spec.experts);
    for (const std::int32_t expert : different)
      ++counts[static_cast<std::size_t>(expert)];
  }
  EXPECT_EQ(counts, choice.tokens_of_expert);
  EXPECT_EQ(counts, expert_counts(spec));
  for (std::int64_t gpu = 1; gpu < spec.ep; ++gpu)
    EXPECT_GE(choice.tokens_of_gpu(0, spec.ep), choice.tokens_of_gpu(gpu, spec.ep));
}

TEST(MoeRouting, GivesEachTokenDifferentExpertsAndTheFirstGpuMost) {
  for (const std::int64_t tokens : {1, 2, 7, 64, 1000}) {
    for (const Routing routing : {Routing::kBalanced, Routing::kPowerLaw}) {
      for (MoeSpec spec :
           {spec_of(tokens, 2, 8, 1), spec_of(tokens, 8, 256, 8), spec_of(tokens, 6, 160, 16),
            spec_of(tokens, 22, 512, 4), spec_of(tokens, 8, 8, 2)}) {
        spec.routing = routing;
        spec.exponent = 1.2;
        expect_sound(spec);
      }
    }
  }
}

// GPUs that share the experts in other numbers get their counts from the same draws.
TEST(MoeRouting, CountsDoNotDependOnWhatWasCountedBefore) {
  MoeSpec spec = spec_of(1000, 8, 256, 8);
  spec.routing = Routing::kPowerLaw;
  spec.exponent = 1.2;
  const std::vector<std::int64_t> first = expert_counts(spec);
  MoeSpec other = spec;
  other.ep = 2;
  EXPECT_NE(first, expert_counts(other));
  other = spec;
  other.exponent = 1.01;
  EXPECT_NE(first, expert_counts(other));
  EXPECT_EQ(first, expert_counts(spec));
}

TEST(MoeRouting, BalancedGivesAllExpertsTheSame) {
  const ExpertChoice choice = choose_experts(spec_of(256, 8, 256, 8));
  EXPECT_EQ(choice.tokens_of_expert, std::vector<std::int64_t>(256, 8));
  // Token 3 takes experts 3, 3 + 32, ...
  EXPECT_EQ(choice.experts[3 * 8 + 1], 35);
}

TEST(MoeRouting, FewBalancedTokensAreSpreadOverTheStride) {
  const ExpertChoice choice = choose_experts(spec_of(2, 8, 256, 1));
  EXPECT_EQ(choice.experts[0], 0);
  EXPECT_EQ(choice.experts[8], 16);  // token 1 of 2 begins in the middle of a stride of 32
}

TEST(MoeRouting, ALargerExponentIsLessFair) {
  const auto busiest = [](double exponent) {
    MoeSpec spec = spec_of(4096, 8, 256, 1);
    spec.routing = Routing::kPowerLaw;
    spec.exponent = exponent;
    const std::vector<std::int64_t> counts = choose_experts(spec).tokens_of_expert;
    return *std::max_element(counts.begin(), counts.end());
  };
  EXPECT_GT(busiest(1.2), busiest(0.5));
  EXPECT_GT(busiest(0.5), 4096 * 8 / 256);
}

TEST(MoeRouting, IsTheSameEachTime) {
  MoeSpec spec = spec_of(100, 8, 128, 4);
  spec.routing = Routing::kPowerLaw;
  spec.exponent = 1.01;
  EXPECT_EQ(choose_experts(spec).experts, choose_experts(spec).experts);
}

TEST(BlockScales, InputsLieBlockAfterBlock) {
  const InputScales scales{.rows = 6, .k = 300};
  EXPECT_EQ(scales.pitch(), 8);
  EXPECT_EQ(scales.count(), 24);
  EXPECT_EQ(scales.at(5, 127), 5);
  EXPECT_EQ(scales.at(5, 128), 13);
}

TEST(BlockScales, WeightsLieRowAfterRow) {
  const WeightScales scales{.n = 300, .k = 700};
  EXPECT_EQ(scales.pitch(), 8);  // six blocks, filled up
  EXPECT_EQ(scales.count(), 24);
  EXPECT_EQ(scales.at(128, 699), 13);
}

TEST(BlockScales, ExpertsFollowEachOther) {
  // Rows 4 to 11 are the second expert's. The first expert has 4 rows of 3 blocks.
  const ExpertScales scales{.begin = 4, .end = 12, .k = 300};
  EXPECT_EQ(scales.first(), 12);
  EXPECT_EQ(scales.at(4, 0), 12);
  EXPECT_EQ(scales.at(9, 128), 12 + 8 + 5);
  // The second expert's last scale comes before the third expert's first.
  EXPECT_EQ(scales.at(11, 299) + 1, (ExpertScales{.begin = 12, .end = 16, .k = 300}).first());
}

}  // namespace
}  // namespace assay::collect
