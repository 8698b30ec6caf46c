#include "gpu/nvidia_state.h"

#include <gtest/gtest.h>

#include "gpu/fake_nvml_test_util.h"

namespace assay::gpu {
namespace {

TEST(NvidiaState, FindsTheGpuThatCudaNames) {
  const FakeNvml fake("count 3\nsm_clock.1 1111\nsm_clock.2 1222\n");
  for (const char* name : {"0000:02:00.0", "00000000:02:00.0", "GPU-fake-1"}) {
    const auto reader = NvidiaStateReader::open(FakeNvml::library(), name);
    ASSERT_TRUE(reader.ok()) << name;
    EXPECT_EQ(reader.value().read().value().sm_mhz, 1111) << name;
  }
  const auto none = NvidiaStateReader::open(FakeNvml::library(), "0000:09:00.0");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "NVML does not find GPU 0000:09:00.0: fake error 6");
}

TEST(NvidiaState, ReadsAllThatAMeasurementKeeps) {
  const FakeNvml fake("count 1\nreasons 0x45\nenergy 2500\ntemperature 61\npower_limit 650000\n");
  const auto reader = NvidiaStateReader::open(FakeNvml::library(), "0000:01:00.0");
  ASSERT_TRUE(reader.ok());
  const DeviceState state = reader.value().read().value();
  EXPECT_EQ(state.sm_mhz, 1980);
  EXPECT_EQ(state.memory_mhz, 3201);
  EXPECT_EQ(state.temperature_celsius, 61);
  EXPECT_EQ(state.power_limit_watts, 650);
  EXPECT_EQ(reader.value().energy_joules(), 2.5);
  EXPECT_EQ(state.slowdowns,
            (std::vector<std::string>{"software power cap", "hardware thermal slowdown"}));
}

TEST(NvidiaState, WhatTheDriverDoesNotTellIsEmpty) {
  const FakeNvml fake(
      "count 1\nenergy unsupported\nsm_clock unsupported\ntemperature unsupported\n");
  const auto reader = NvidiaStateReader::open(FakeNvml::library(), "0000:01:00.0");
  const DeviceState state = reader.value().read().value();
  EXPECT_FALSE(state.sm_mhz || reader.value().energy_joules() || state.temperature_celsius);
  EXPECT_EQ(state.memory_mhz, 3201);
}

TEST(NvidiaState, ALostGpuIsAnError) {
  const FakeNvml fake("count 1\n");
  const auto reader = NvidiaStateReader::open(FakeNvml::library(), "0000:01:00.0");
  fake.set("count 1\nclock_error 15\n");
  ASSERT_FALSE(reader.value().read().ok());
  EXPECT_EQ(reader.value().read().error().message, "fake error 15");
}

TEST(NvidiaState, NoDriverIsAnError) {
  const auto reader = NvidiaStateReader::open("/nonexistent/libnvidia-ml.so.1", "GPU-1");
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().message, "there is no NVIDIA driver here");
}

}  // namespace
}  // namespace assay::gpu
