#include "collect/worker/measure.h"

#include <gtest/gtest.h>

#include <random>

#include "collect/worker/fake_device_test_util.h"

namespace assay::collect {
namespace {

model::Timing timed(FakeDevice& device, const MeasureOptions& options) {
  FakeDeviceScript script;
  FakeWork work(script);
  auto timing = measure(device, work, options);
  EXPECT_TRUE(timing.ok()) << timing.error().message;
  return timing.value().timing;
}

TEST(Measure, ASteadyWorkTakesTheFewestSamples) {
  FakeDevice device({.time_ms = [](std::int64_t) { return 1.0; }});
  const model::Timing timing = timed(device, {});
  EXPECT_EQ(timing.samples_ms.size(), 7U);
  EXPECT_DOUBLE_EQ(timing.median_ms, 1);
  EXPECT_EQ(timing.launches_per_sample, 1);
  EXPECT_EQ(timing.launch, model::Launch::kGraph);
}

TEST(Measure, ShortLaunchesArePutTogether) {
  FakeDevice device({.time_ms = [](std::int64_t) { return 0.002; }});
  const model::Timing timing = timed(device, {});
  EXPECT_EQ(timing.launches_per_sample, 500);
  EXPECT_EQ(timing.samples_ms.size(), 7U);
}

TEST(Measure, WhatEventsTakeIsOnePercentOfAShortLaunchAtMost) {
  FakeDevice device({.time_ms = [](std::int64_t) { return 0.003; }, .around_ms = 0.008});
  EXPECT_NEAR(timed(device, {}).median_ms, 0.003, 0.003 * 0.01);
}

TEST(Measure, ATrialThatMetAStallIsNotBelieved) {
  FakeDevice device({.time_ms = [](std::int64_t sample) { return sample == 0 ? 40.0 : 0.002; }});
  const model::Timing timing = timed(device, {});
  EXPECT_EQ(timing.launches_per_sample, 500);
  EXPECT_EQ(timing.samples_ms.size(), 7U);
  EXPECT_DOUBLE_EQ(timing.median_ms, 0.002);
}

TEST(Measure, TheTimeOfKernelsIsThatOfAllLaunches) {
  FakeDevice device({.time_ms = [](std::int64_t) { return 1.0; }});
  FakeDeviceScript script;
  FakeWork work(script);
  const auto measured = measure(device, work, {});
  ASSERT_TRUE(measured.ok());
  EXPECT_DOUBLE_EQ(measured.value().kernels_ms, 3 + 1 + 7);
}

TEST(Measure, NoiseTakesMoreSamplesUntilTheMedianIsCertain) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(1, 0.04);
  FakeDevice device({.time_ms = [&](std::int64_t) { return noise(random); }});
  const model::Timing timing = timed(device, {.max_time_ms = 1e9});
  EXPECT_GT(timing.samples_ms.size(), 30U);
  EXPECT_LT(timing.samples_ms.size(), 400U);
  EXPECT_LE(timing.high_ms - timing.median_ms, 0.01 * timing.median_ms);
  EXPECT_NEAR(timing.median_ms, 1, 0.02);
  EXPECT_LT(timing.p10_ms, timing.median_ms);
  EXPECT_GT(timing.p90_ms, timing.median_ms);
}

TEST(Measure, EndsAtItsBounds) {
  const auto alternating = [](std::int64_t sample) { return sample % 2 == 0 ? 1.0 : 3.0; };
  FakeDevice samples({.time_ms = alternating});
  EXPECT_EQ(timed(samples, {.max_samples = 64, .max_time_ms = 1e9}).samples_ms.size(), 64U);
  FakeDevice slow({.time_ms = [&](std::int64_t sample) { return 100 * alternating(sample); }});
  EXPECT_EQ(timed(slow, {}).samples_ms.size(), 7U);
}

TEST(Measure, FixedNumbersAreKept) {
  FakeDevice device({.time_ms = [](std::int64_t) { return 0.001; }});
  const model::Timing timing = timed(device, {.num_runs = 6, .repeat_n = 5});
  EXPECT_EQ(timing.samples_ms.size(), 6U);
  EXPECT_EQ(timing.launches_per_sample, 5);
  ASSERT_EQ(device.requests.size(), 1U);
}

TEST(Measure, AFixedNumberOfSamplesIsOfFullOnes) {
  FakeDevice device({.time_ms = [](std::int64_t) { return 0.002; }});
  const model::Timing timing = timed(device, {.num_runs = 50});
  EXPECT_EQ(timing.samples_ms.size(), 50U);
  EXPECT_EQ(timing.launches_per_sample, 500);
  FakeDevice stalled({.time_ms = [](std::int64_t sample) { return sample == 0 ? 40.0 : 0.002; }});
  const model::Timing again = timed(stalled, {.num_runs = 50});
  EXPECT_EQ(again.samples_ms.size(), 50U);
  EXPECT_EQ(again.launches_per_sample, 500);
}

TEST(Measure, WhatCannotBeCapturedIsLaunchedEagerlyAndSaysSo) {
  FakeDevice device({.captures = false});
  EXPECT_EQ(timed(device, {}).launch, model::Launch::kEager);
  FakeDeviceScript script;
  FakeWork work(script);
  EXPECT_FALSE(measure(device, work, {.allow_eager = false}).ok());
}

TEST(Measure, AnErrorOfTheDeviceIsTheResult) {
  FakeDevice device({.fails = "unspecified launch failure"});
  FakeDeviceScript script;
  FakeWork work(script);
  const auto timing = measure(device, work, {});
  ASSERT_FALSE(timing.ok());
  EXPECT_EQ(timing.error().message, "unspecified launch failure");
}

}  // namespace
}  // namespace assay::collect
