#include "collect/worker/energy_meter.h"

#include <chrono>

namespace assay::collect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookEvery{2};

}  // namespace

EnergyMeter::EnergyMeter(StateReader& reader) : reader_(reader), thread_([this] { watch(); }) {}

EnergyMeter::~EnergyMeter() {
  stop();
}

double EnergyMeter::seconds() const {
  const std::lock_guard lock(mutex_);
  return first_ ? last_.seconds - first_->seconds : 0;
}

core::Result<std::optional<double>> EnergyMeter::watts() {
  stop();
  ASSAY_TRY(status_);
  if (!first_ || last_.seconds <= first_->seconds) return std::optional<double>();
  return std::optional((last_.joules - first_->joules) / (last_.seconds - first_->seconds));
}

void EnergyMeter::watch() {
  const Clock::time_point start = Clock::now();
  std::optional<double> before;
  while (!stopping_) {
    const core::Result<std::optional<double>> now = reader_.energy_joules();
    const std::chrono::duration<double> at = Clock::now() - start;
    if (!now.ok() || !now.value()) {
      if (!now.ok()) status_ = now.error();
      failed_ = true;
      return;
    }
    if (before && *now.value() != *before) {
      const std::lock_guard lock(mutex_);
      last_ = {.seconds = at.count(), .joules = *now.value()};
      if (!first_) first_ = last_;
    }
    before = *now.value();
    std::this_thread::sleep_for(kLookEvery);
  }
}

void EnergyMeter::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

}  // namespace assay::collect
