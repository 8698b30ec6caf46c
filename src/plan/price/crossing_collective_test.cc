#include "plan/price/crossing_collective.h"

#include <gtest/gtest.h>

namespace assay::plan {
namespace {

serving::OperatorUse collective(const char* op, std::int64_t gpus) {
  return {.role = "collective",
          .op = "nccl",
          .table = "nccl_perf",
          .op_name = op,
          .key = {{"nccl_dtype", std::string("half")}, {"num_gpus", gpus}}};
}

NodeLinks links() {
  return {.gpus_per_node = 8, .latency_s = 1e-5, .bytes_per_s = [](std::int64_t) { return 50e9; }};
}

TEST(CrossingCollective, AnAllReduceSendsAGpusShareBetweenNodesInTwoTrees) {
  const auto crossing = crossing_use(collective("all_reduce", 32), links());
  ASSERT_TRUE(crossing.has_value());
  EXPECT_EQ(crossing->nodes, 4);
  EXPECT_EQ(*serving::find_key(crossing->within, "num_gpus"), model::PerfValue(std::int64_t{8}));
  EXPECT_EQ(crossing->within_share, 1);
  // 400 MB: 50 MB are a GPU's share, of which it sends 2 x 3/4 at 50 GB/s; 4 rounds of 10 us.
  EXPECT_NEAR(crossing->between_ms(400e6, links()), 1.5 + 0.04, 1e-9);
}

TEST(CrossingCollective, AGatherTakesOneTree) {
  const auto crossing = crossing_use(collective("all_gather", 16), links());
  ASSERT_TRUE(crossing.has_value());
  EXPECT_NEAR(crossing->between_ms(400e6, links()), 0.5 + 0.01, 1e-9);
}

TEST(CrossingCollective, AnAllToAllSendsWhatIsForOtherNodes) {
  const auto crossing = crossing_use(collective("alltoall", 16), links());
  ASSERT_TRUE(crossing.has_value());
  EXPECT_EQ(crossing->within_share, 0.5);
  EXPECT_NEAR(crossing->between_ms(100e6, links()), 1 + 0.01, 1e-9);
}

TEST(CrossingCollective, WhatLiesWithinANodeOrInPartsOfNodesCrossesNothing) {
  EXPECT_FALSE(crossing_use(collective("all_reduce", 8), links()).has_value());
  EXPECT_FALSE(crossing_use(collective("all_reduce", 12), links()).has_value());
  EXPECT_FALSE(crossing_use(collective("gemm", 16), links()).has_value());
  NodeLinks unknown = links();
  unknown.bytes_per_s = [](std::int64_t) { return 0.0; };
  EXPECT_FALSE(crossing_use(collective("all_reduce", 16), unknown).has_value());
}

}  // namespace
}  // namespace assay::plan
