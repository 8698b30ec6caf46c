#include "allreduce/rank_agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace assay::allreduce {
namespace {

using testing::HasSubstr;

std::vector<RankFacts> ranks(std::uint8_t count) {
  std::vector<RankFacts> facts;
  for (std::uint8_t rank = 0; rank < count; ++rank)
    facts.push_back({.workspace_bytes = 64 << 20,
                     .magic = kHandleMagic,
                     .library = 7,
                     .nccl_version = 22807,
                     .table = 9,
                     .deadline_seconds = 2,
                     .gpu = 0x1800U + rank,
                     .multiprocessors = 132,
                     .sm_version = 90,
                     .rank = rank,
                     .world_size = count,
                     .is_deterministic = 0,
                     .unused = 0});
  return facts;
}

TEST(RankAgreementTest, LikeRanksAgree) {
  const auto agreed = agree(ranks(4), false);
  ASSERT_TRUE(agreed.ok());
  EXPECT_EQ(agreed.value().multiprocessors, 132);
  EXPECT_EQ(agreed.value().no_nccl, "");
}

TEST(RankAgreementTest, TheSmallestGpuDecides) {
  auto facts = ranks(3);
  facts[1].multiprocessors = 114;
  EXPECT_EQ(agree(facts, false).value().multiprocessors, 114);
}

TEST(RankAgreementTest, ARankWithoutNcclSwitchesItOffForAll) {
  auto facts = ranks(4);
  facts[2].nccl_version = 0;
  EXPECT_EQ(agree(facts, false).value().no_nccl, "rank 2 has no NCCL");
  facts = ranks(4);
  facts[0].nccl_version = 0;
  EXPECT_EQ(agree(facts, false).value().no_nccl, "rank 0 has no NCCL");
  facts = ranks(4);
  facts[3].nccl_version = 21903;
  EXPECT_EQ(agree(facts, false).value().no_nccl, "rank 3 has NCCL 2.19.3, rank 0 NCCL 2.28.7");
}

TEST(RankAgreementTest, WhatDiffersIsNamedWithItsRank) {
  const struct {
    const char* says;
    void (*change)(RankFacts& facts);
  } cases[] = {
      {"rank 2 runs another version", [](RankFacts& one) { one.library = 8; }},
      {"rank 2 has workspaces of 5 bytes", [](RankFacts& one) { one.workspace_bytes = 5; }},
      {"deterministic", [](RankFacts& one) { one.is_deterministic = 1; }},
      {"deadline_seconds", [](RankFacts& one) { one.deadline_seconds = 3; }},
      {"rank 2 has loaded another table", [](RankFacts& one) { one.table = 0; }},
      {"SM 100, not 90", [](RankFacts& one) { one.sm_version = 100; }},
      {"handle of rank 2", [](RankFacts& one) { one.rank = 1; }},
      {"handle of rank 2", [](RankFacts& one) { one.world_size = 4; }},
      {"handle of rank 2", [](RankFacts& one) { one.magic = 0; }}};

  for (const auto& [says, change] : cases) {
    auto facts = ranks(3);
    change(facts[2]);
    const auto agreed = agree(facts, false);
    ASSERT_FALSE(agreed.ok()) << says;
    EXPECT_THAT(agreed.error().message, HasSubstr(says));
  }
}

core::Result<Agreement> on_gpus(const std::vector<std::uint32_t>& gpus, bool may_share) {
  auto facts = ranks(static_cast<std::uint8_t>(gpus.size()));
  for (std::size_t rank = 0; rank < gpus.size(); ++rank)
    facts[rank].gpu = gpus[rank];
  return agree(facts, may_share);
}

TEST(RankAgreementTest, RanksMayShareGpusWhereThatIsAllowed) {
  const Agreement two = on_gpus({0, 1, 0, 1, 0, 1}, true).value();
  EXPECT_TRUE(two.shares_gpus);
  EXPECT_EQ(two.multiprocessors, 33);
  EXPECT_EQ(two.no_nccl, "NCCL takes one rank on each GPU");
  EXPECT_EQ(on_gpus({0, 1, 0}, true).value().multiprocessors, 44);

  const Agreement own = on_gpus({0, 1}, true).value();
  EXPECT_FALSE(own.shares_gpus);
  EXPECT_EQ(own.multiprocessors, 132);
  EXPECT_EQ(own.no_nccl, "");
}

TEST(RankAgreementTest, RanksThatAllTookTheFirstGpuAreNamed) {
  const auto agreed = on_gpus({1, 0, 0}, false);
  ASSERT_FALSE(agreed.ok());
  EXPECT_THAT(agreed.error().message, HasSubstr("ranks 1 and 2 are on one GPU"));
}

}  // namespace
}  // namespace assay::allreduce
