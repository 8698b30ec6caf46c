#include "plan/cache_transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/serving/family.h"

namespace assay::plan {
namespace {

using testing::HasSubstr;

store::SystemFacts facts_of(double link, double network) {
  store::SystemFacts facts;
  facts.name = "mine";
  facts.peaks.link_bytes_per_s = link;
  facts.between_nodes_bytes_per_s = network;
  facts.peer_latency_s = 1e-5;
  return facts;
}

ServedWorker worker_of(std::int64_t tp, std::int64_t groups = 1) {
  return {.engine = Engine::kVllm,
          .deployment = {.tp = tp, .moe_tp = tp},
          .groups = groups,
          .memory = {.capacity_bytes = 1e12}};
}

// 36 layers of 8 heads of 128, keys and values of 2 bytes.
constexpr double kBytesOfToken = 36 * 8 * 128 * 2 * 2;

CacheTransfer transfer_of(const ServedWorker& prefill,
                          const ServedWorker& decode,
                          CachePath path = CachePath::kBetweenNodes) {
  const auto model = serving::read_model("qwen3-8b").value();
  const store::SystemFacts facts = facts_of(400e9, 50e9);
  const auto gpus = [](const ServedWorker& worker) { return worker.deployment.tp * worker.groups; };
  return cache_transfer(sent_bytes_per_token(model, decode, 4000), {gpus(prefill), &facts},
                        {gpus(decode), &facts}, path)
      .value();
}

TEST(CacheTransfer, OfOneGpuByHand) {
  const CacheTransfer transfer = transfer_of(worker_of(1), worker_of(1));
  EXPECT_DOUBLE_EQ(transfer.bytes_per_token, kBytesOfToken);
  EXPECT_DOUBLE_EQ(transfer.gbps, 50);
  EXPECT_DOUBLE_EQ(transfer.latency_ms, 0.01);
  EXPECT_DOUBLE_EQ(transfer_ms(transfer, 4000), 0.01 + kBytesOfToken * 4000 / 50e6);
}

TEST(CacheTransfer, TheSlowerSideBounds) {
  EXPECT_DOUBLE_EQ(transfer_of(worker_of(4), worker_of(2)).gbps, 100);
  EXPECT_DOUBLE_EQ(transfer_of(worker_of(1), worker_of(8)).gbps, 50);
  EXPECT_DOUBLE_EQ(transfer_of(worker_of(1, 8), worker_of(8)).gbps, 400);
  EXPECT_DOUBLE_EQ(transfer_of(worker_of(2), worker_of(2), CachePath::kWithinNode).gbps, 800);
}

TEST(CacheTransfer, WithinANodeTheMeasuredRateCounts) {
  store::SystemFacts facts = facts_of(400e9, 50e9);
  facts.reached_link_bytes_per_s = 300e9;
  const auto gbps = [&](CachePath path) {
    return cache_transfer(1, {2, &facts}, {2, &facts}, path).value().gbps;
  };
  EXPECT_DOUBLE_EQ(gbps(CachePath::kWithinNode), 600);
  EXPECT_DOUBLE_EQ(gbps(CachePath::kBetweenNodes), 100);
  EXPECT_THAT(transfer_source(facts, CachePath::kWithinNode), HasSubstr("measured.intra_node_bw"));
  EXPECT_THAT(transfer_source(facts, CachePath::kBetweenNodes), HasSubstr("own figures"));
}

// 16 GPUs have each of the 8 heads twice.
TEST(CacheTransfer, SendsHeadsToEveryGpuThatHoldsThem) {
  EXPECT_DOUBLE_EQ(transfer_of(worker_of(1), worker_of(8)).bytes_per_token, kBytesOfToken);
  EXPECT_DOUBLE_EQ(transfer_of(worker_of(1), worker_of(16)).bytes_per_token, 2 * kBytesOfToken);
}

TEST(CacheTransfer, NeedsARate) {
  const store::SystemFacts facts = facts_of(400e9, 0);
  const auto transfer = cache_transfer(1, {1, &facts}, {1, &facts}, CachePath::kBetweenNodes);
  ASSERT_FALSE(transfer.ok());
  EXPECT_THAT(transfer.error().message, HasSubstr("the file of mine has no node.inter_node_bw"));
}

}  // namespace
}  // namespace assay::plan
