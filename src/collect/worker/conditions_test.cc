#include "collect/worker/conditions.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "gpu/fake_nvml_test_util.h"

namespace assay::collect {
namespace {

TEST(NvmlState, ReadsBeforeAndAfterAMeasurement) {
  const gpu::FakeNvml fake("count 1\nenergy 1000\n");
  const auto reader = nvml_state_reader("0000:01:00.0", gpu::FakeNvml::library());
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  const DeviceState before = reader.value()->read().value();
  EXPECT_EQ(before.most_sm_mhz, 1980);
  const double joules_before = reader.value()->energy_joules().value().value_or(0);
  fake.set("count 1\nenergy 4500\nsm_clock 1500\nreasons 0x20\n");
  const DeviceState after = reader.value()->read().value();
  EXPECT_EQ(before.sm_mhz, 1980);
  EXPECT_EQ(after.sm_mhz, 1500);
  EXPECT_EQ(after.memory_mhz, 3201);
  EXPECT_EQ(after.temperature_celsius, 45);
  EXPECT_EQ(after.power_limit_watts, 700);
  EXPECT_EQ(reader.value()->energy_joules().value().value_or(0) - joules_before, 3.5);
  EXPECT_EQ(after.slowdowns, std::vector<std::string>{"software thermal slowdown"});
  const model::Conditions seen = conditions(before, after, {});
  EXPECT_TRUE(seen.throttled);
}

TEST(NvmlState, AnUnknownGpuIsAnError) {
  const gpu::FakeNvml fake("count 1\n");
  EXPECT_FALSE(nvml_state_reader("0000:77:00.0", gpu::FakeNvml::library()).ok());
}

model::Timing samples(std::vector<double> samples_ms) {
  model::Timing timing;
  timing.samples_ms = std::move(samples_ms);
  timing.median_ms = 1;
  timing.p10_ms = 0.99;
  timing.p90_ms = 1.01;
  return timing;
}

TEST(Conditions, SamplesThatClimbAreDrifting) {
  EXPECT_FALSE(conditions({}, {}, samples({1, 1, 1, 1, 1, 1, 1, 1, 1})).drifting);
  EXPECT_TRUE(conditions({}, {}, samples({1, 1, 1, 1, 1, 1, 1.1, 1.1, 1.1})).drifting);
  EXPECT_FALSE(conditions({}, {}, samples({1, 1, 1, 1.1, 1.1, 1.1})).drifting);  // too few
}

TEST(Conditions, AReasonOrASlowerClockIsThrottling) {
  const model::Timing timing = samples({1});
  EXPECT_FALSE(conditions({.sm_mhz = 1980}, {.sm_mhz = 1900}, timing).throttled);
  EXPECT_TRUE(conditions({.sm_mhz = 1980}, {.sm_mhz = 1700}, timing).throttled);
  EXPECT_TRUE(conditions({}, {.slowdowns = {"power cap"}}, timing).throttled);
  EXPECT_EQ(conditions({.sm_mhz = 1980}, {.sm_mhz = 1700}, timing).sm_mhz_before, 1980);
}

}  // namespace
}  // namespace assay::collect
