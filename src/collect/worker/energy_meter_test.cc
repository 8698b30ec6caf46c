#include "collect/worker/energy_meter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace assay::collect {
namespace {

// A counter that moves every 20 ms, at 500 W, and was moved by another load before.
class SteppingCounter final : public StateReader {
 public:
  core::Result<DeviceState> read() override { return DeviceState{}; }

  core::Result<std::optional<double>> energy_joules() override {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start_;
    const auto steps = static_cast<int>(since.count() / kStepSeconds);
    return std::optional<double>(steps == 0 ? 0 : kEarlierJoules + steps * 500 * kStepSeconds);
  }

 private:
  static constexpr double kStepSeconds = 0.02;
  static constexpr double kEarlierJoules = 1000;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class NoCounter final : public StateReader {
 public:
  explicit NoCounter(bool is_broken) : is_broken_(is_broken) {}

  core::Result<DeviceState> read() override { return DeviceState{}; }

  core::Result<std::optional<double>> energy_joules() override {
    if (is_broken_) return core::Error{"the GPU is lost"};
    return std::optional<double>();
  }

 private:
  bool is_broken_;
};

TEST(EnergyMeter, CountsBetweenStepsOfTheCounterOnly) {
  SteppingCounter counter;
  EnergyMeter meter(counter);
  while (meter.seconds() < 0.2)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto watts = meter.watts();
  ASSERT_TRUE(watts.ok());
  ASSERT_TRUE(watts.value());
  // A look comes late on a busy machine, which changes the time between two steps.
  EXPECT_NEAR(*watts.value(), 500, 150);
}

TEST(EnergyMeter, WithoutACounterThereIsNoPower) {
  NoCounter none(false);
  EnergyMeter meter(none);
  while (!meter.has_failed())
    std::this_thread::yield();
  EXPECT_EQ(meter.watts().value(), std::nullopt);
}

TEST(EnergyMeter, AnErrorOfTheReaderIsTold) {
  NoCounter broken(true);
  EnergyMeter meter(broken);
  while (!meter.has_failed())
    std::this_thread::yield();
  ASSERT_FALSE(meter.watts().ok());
  EXPECT_EQ(meter.watts().error().message, "the GPU is lost");
}

}  // namespace
}  // namespace assay::collect
