#include "allreduce/nccl_setting.h"

#include <gtest/gtest.h>

namespace assay::allreduce {
namespace {

TEST(NcclSetting, Names) {
  EXPECT_EQ(nccl_setting_named("NCCL_RING_LL128_16"), (NcclSetting{"ring", "ll128", 16}));
  EXPECT_EQ(nccl_setting_named("NCCL_TREE_SIMPLE"), (NcclSetting{"tree", "simple", kNcclChooses}));
  EXPECT_EQ(name_of(NcclSetting{"ring", "ll128", 16}), "NCCL_RING_LL128_16");
  EXPECT_EQ(name_of(NcclSetting{"tree", "simple"}), "NCCL_TREE_SIMPLE");
  for (const char* name : {"", "NCCL", "NCCL_SYMMETRIC", "NCCL_RING", "ONESHOT", "NCCL_RING_LL_0",
                           "NCCL_RING_LL_-1", "NCCL_RING_LL_4x", "NCCL_RING_LL_04",
                           "NCCL_RING_LL_65", "NCCL_ring_LL_4", "NCCL_RING_LL_", "NCCL_NVLS_LL"}) {
    EXPECT_FALSE(nccl_setting_named(name)) << name;
  }
}

TEST(NcclSetting, ArmsAreNcclAndItsSettings) {
  ASSERT_TRUE(nccl_arm_named("NCCL"));
  EXPECT_EQ(nccl_arm_named("NCCL").value(), NcclArm());
  ASSERT_TRUE(nccl_arm_named("NCCL_RING_LL_8"));
  EXPECT_EQ(nccl_arm_named("NCCL_RING_LL_8").value(), NcclArm(NcclSetting{"ring", "ll", 8}));
  EXPECT_EQ(nccl_arm_name(NcclArm()), "NCCL");
  EXPECT_FALSE(nccl_arm_named("ONESHOT"));
}

TEST(NcclSetting, Collectives) {
  for (const std::string_view name : kNcclCollectiveNames)
    EXPECT_EQ(name_of(nccl_collective_named(name).value()), name);
  EXPECT_FALSE(nccl_collective_named("alltoall"));
}

}  // namespace
}  // namespace assay::allreduce
