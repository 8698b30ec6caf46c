#include "store/systems/system_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/systems/shipped.h"

namespace assay::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// As the public files are, with a field that nobody knows.
constexpr const char* kRack =
    "data_dir: data/rack\n"
    "gpu:\n"
    "  mem_bw: 8000000000000\n"
    "  mem_bw_empirical_scaling_factor: 0.75\n"
    "  mem_empirical_constant_latency: 0.000002\n"
    "  mem_capacity: 198674874368\n"
    "  bfloat16_tc_flops: 2500000000000000\n"
    "  fp8_tc_flops: 5000000000000000\n"
    "  power: 1200\n"
    "  sm_version: 100\n"
    "  favourite_colour: green\n"
    "node:\n"
    "  num_gpus_per_node: 4\n"
    "  num_gpus_per_rack: 72\n"
    "  inter_node_bw: 800000000000\n"
    "  intra_node_bw: 900000000000\n"
    "  inter_rack_bw: 100000000000\n"
    "  pcie_bw: 64000000000\n"
    "  p2p_latency: 0.00002\n"
    "misc:\n"
    "  nccl_mem:\n"
    "    1: 0\n"
    "    2: 100\n"
    "    8: 300\n"
    "  other_mem: 1000\n"
    "  nccl_version: '2.27.3'\n";

SystemFacts facts_of(const std::string& yaml) {
  auto facts = parse_system_facts(yaml, "rack", "rack.yaml");
  EXPECT_TRUE(facts.ok()) << facts.error().message;
  return facts.ok() ? facts.value() : SystemFacts();
}

std::string error_of(const std::string& yaml) {
  const auto facts = parse_system_facts(yaml, "rack", "rack.yaml");
  return facts.ok() ? "none" : facts.error().message;
}

TEST(SystemFacts, AreThoseOfTheFile) {
  const SystemFacts facts = facts_of(kRack);
  EXPECT_EQ(facts.name, "rack");
  EXPECT_EQ(facts.data_dir, "data/rack");
  EXPECT_EQ(facts.peaks.memory_bytes_per_s, 8e12);
  EXPECT_EQ(facts.peaks.flops_of("fp8"), 5e15);
  EXPECT_EQ(facts.memory_bytes, 198674874368.0);
  EXPECT_EQ(facts.memory_share, 0.75);
  EXPECT_EQ(facts.memory_latency_s, 2e-6);
  EXPECT_EQ(facts.power_watts, 1200);
  EXPECT_EQ(facts.sm_version, 100);
  EXPECT_EQ(facts.gpus_per_node, 4);
  EXPECT_EQ(facts.host_bytes_per_s, 64e9);
  EXPECT_EQ(facts.peer_latency_s, 2e-5);
  EXPECT_EQ(facts.other_bytes, 1000);
  EXPECT_EQ(facts.nccl_version, "2.27.3");
  EXPECT_THAT(facts.assumed, IsEmpty());
}

TEST(SystemFacts, LinksAreThoseThatTheGpusNeed) {
  const SystemFacts facts = facts_of(kRack);
  EXPECT_EQ(facts.link_bytes_per_s(4), 900e9);
  EXPECT_EQ(facts.link_bytes_per_s(5), 800e9);
  EXPECT_EQ(facts.link_bytes_per_s(72), 800e9);
  EXPECT_EQ(facts.link_bytes_per_s(73), 100e9);
}

TEST(SystemFacts, AMeasuredLinkCountsWithinANode) {
  const SystemFacts known = facts_of(std::string(kRack) + "measured:\n  intra_node_bw: 700e9\n");
  EXPECT_EQ(known.link_bytes_per_s(4), 900e9);
  EXPECT_EQ(known.sending_rate(4).bytes_per_s, 700e9);
  EXPECT_TRUE(known.sending_rate(4).is_measured);
  EXPECT_EQ(known.sending_rate(5).bytes_per_s, 800e9);
  EXPECT_FALSE(known.sending_rate(5).is_measured);
  EXPECT_EQ(facts_of(kRack).sending_rate(4).bytes_per_s, 900e9);
  EXPECT_FALSE(facts_of(kRack).sending_rate(4).is_measured);
}

TEST(SystemFacts, NcclTakesTheMemoryOfTheNextLargerGroup) {
  const SystemFacts facts = facts_of(kRack);
  EXPECT_EQ(facts.nccl_bytes_of(1), 0);
  EXPECT_EQ(facts.nccl_bytes_of(2), 100);
  EXPECT_EQ(facts.nccl_bytes_of(3), 300);
  EXPECT_EQ(facts.nccl_bytes_of(64), 300);
  EXPECT_EQ(SystemFacts().nccl_bytes_of(2), 0);
}

TEST(SystemFacts, TellWhatIsAssumed) {
  const SystemFacts facts = facts_of("gpu: {mem_bw: 1e12, mem_capacity: 1e11}\n");
  EXPECT_EQ(facts.memory_share, 0.8);
  EXPECT_EQ(facts.gpus_per_node, 8);
  EXPECT_EQ(facts.between_nodes_bytes_per_s, 0);
  EXPECT_THAT(facts.assumed, ElementsAre("gpu.mem_bw_empirical_scaling_factor = 0.8",
                                         "gpu.mem_empirical_constant_latency = 3e-06",
                                         "node.num_gpus_per_node = 8.0", "node.p2p_latency = 1e-05",
                                         "misc.other_mem = 3758096384.0"));
}

TEST(SystemFacts, ErrorsNameFileLineAndField) {
  EXPECT_EQ(error_of("gpu: {mem_bw: 1e12}\n"), "rack.yaml: no gpu.mem_capacity");
  EXPECT_EQ(error_of("gpu: {mem_capacity: 1e12}\n"), "rack.yaml: no gpu.mem_bw (bytes per second)");
  EXPECT_EQ(error_of("gpu:\n  mem_bw: 1e12\n  mem_capacity: much\n"),
            "rack.yaml: line 3: gpu.mem_capacity is no number of at least 0");
  EXPECT_EQ(error_of("gpu: {mem_bw: 1e12, mem_capacity: 1e11}\nmisc:\n  nccl_mem: {two: 3}\n"),
            "rack.yaml: line 3: misc.nccl_mem takes a number of GPUs and the bytes on each");
  EXPECT_EQ(error_of("gpu: {mem_bw: 1e12, mem_capacity: 1e11}\nnode: {num_gpus_per_node: 2.5}\n"),
            "rack.yaml: node.num_gpus_per_node is no number of GPUs");
  EXPECT_THAT(error_of("gpu: {mem_bw: 1e12, mem_capacity: 1e11}\nnode: {num_gpus_per_node: 0}\n"),
              HasSubstr("num_gpus_per_node is 0"));
  EXPECT_THAT(error_of("gpu: ["), HasSubstr("rack.yaml: line "));
  EXPECT_THAT(error_of(""), HasSubstr("describes no system"));
}

TEST(SystemFacts, ShippedSystemsHaveThem) {
  for (const ShippedSystem& system : shipped_systems()) {
    const auto facts =
        parse_system_facts(system.yaml, std::string(system.name), std::string(system.name));
    ASSERT_TRUE(facts.ok()) << facts.error().message;
    EXPECT_GT(facts.value().memory_bytes, 1e10);
    EXPECT_GT(facts.value().link_bytes_per_s(2), 1e10);
    EXPECT_THAT(facts.value().assumed, IsEmpty());
  }
}

}  // namespace
}  // namespace assay::store
