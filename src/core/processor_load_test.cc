#include "core/processor_load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "core/output_file.h"

namespace assay::core {
namespace {

namespace fs = std::filesystem;

class ProcessorLoadTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    ASSERT_TRUE(write_file(root_ / name, text + "\n").ok());
  }

  void make_processors(int count) {
    for (int i = 0; i < count; ++i)
      fs::create_directories(root_ / "sys/devices/system/cpu" / ("cpu" + std::to_string(i)));
  }

  fs::path root_ = fs::path(testing::TempDir()) /
                   ("load_" + std::to_string(::getpid()) + "_" +
                    testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ProcessorLoadTest, CountsThoseThatWereBusyBetweenTwoReadings) {
  const char* before =
      "cpu  0 0 0 0\ncpu0 100 0 0 100 0 0 0 0 0 0\ncpu1 0 0 0 50 50 0 0 0 0 0\n"
      "cpu2 5 5 5 5 5 5 5 5 0 0\nintr 1\n";
  const char* after =
      "cpu  0 0 0 0\ncpu0 110 5 5 100 0 0 0 0 0 0\ncpu1 0 0 0 60 60 0 0 0 0 0\n"
      "cpu2 5 5 5 10 5 5 5 10 9 9\nintr 1\n";
  EXPECT_DOUBLE_EQ(*busy_processors(before, after, {0, 1}), 1);
  EXPECT_DOUBLE_EQ(*busy_processors(before, after, {0, 1, 2}), 1.5);  // half was stolen
  EXPECT_DOUBLE_EQ(*busy_processors(before, after, {1}), 0);
  EXPECT_FALSE(busy_processors(before, before, {0, 1}).has_value());
  EXPECT_FALSE(busy_processors("", "", {0}).has_value());
}

TEST_F(ProcessorLoadTest, TakesTheLeastQuotaOfItsCgroups) {
  EXPECT_FALSE(processor_quota(root_).has_value());
  write("proc/self/cgroup", "4:cpu,cpuacct:/b\n0::/a/c");
  EXPECT_FALSE(processor_quota(root_).has_value());
  write("sys/fs/cgroup/a/c/cpu.max", "max 100000");
  write("sys/fs/cgroup/a/cpu.max", "150000 100000");
  EXPECT_DOUBLE_EQ(*processor_quota(root_), 1.5);
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(*processor_quota(root_), 1.5);
  write("sys/fs/cgroup/cpu/b/cpu.cfs_quota_us", "50000");
  write("sys/fs/cgroup/cpu/b/cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(*processor_quota(root_), 0.5);
}

TEST_F(ProcessorLoadTest, WhatIsIdleOfAMachineIsFreeForAQuota) {
  EXPECT_FALSE(processor_load(root_, {}).has_value());
  make_processors(8);
  write("proc/loadavg", "5.50 1.00 1.00 1/100 1000");
  const auto whole = processor_load(root_, {});
  ASSERT_TRUE(whole.has_value());
  EXPECT_DOUBLE_EQ(whole->allowed, 8);
  EXPECT_DOUBLE_EQ(whole->taken, 5.5);
  EXPECT_DOUBLE_EQ(whole->runnable, 5.5);
  write("proc/self/cgroup", "0::/");
  write("sys/fs/cgroup/cpu.max", "200000 100000");
  EXPECT_DOUBLE_EQ(processor_load(root_, {})->allowed, 2);
  EXPECT_DOUBLE_EQ(processor_load(root_, {})->taken, 0);
  write("proc/loadavg", "7.00 1.00 1.00 1/100 1000");
  EXPECT_DOUBLE_EQ(processor_load(root_, {})->taken, 1);
}

TEST_F(ProcessorLoadTest, WhatIsNoLoadIsNotAnIdleMachine) {
  make_processors(8);
  write("proc/loadavg", "garbage");
  EXPECT_FALSE(processor_load(root_, {}).has_value());
}

TEST_F(ProcessorLoadTest, OfThisMachineIsAtMostWhatIsAllowed) {
  const auto load = processor_load("/", std::chrono::milliseconds(50));
  ASSERT_TRUE(load.has_value());
  EXPECT_GT(load->allowed, 0);
  EXPECT_GE(load->taken, 0);
  EXPECT_LE(load->taken, load->allowed);
}

}  // namespace
}  // namespace assay::core
