#include "collect/worker/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <vector>

#include "core/statistics.h"

namespace assay::collect {
namespace {

using model::Launch;
using model::Timing;

constexpr std::int64_t kMostLaunches = 4096;  // in a sample, because a graph has a node for each
constexpr std::int64_t kProbeLaunches = 16;   // of a short work before its samples
constexpr std::int64_t kMostAtOnce = 64;      // samples between two looks at the interval
constexpr int kMostTrials = 3;                // of the number of launches in a sample
constexpr double kLongLaunchMs = 10;          // one of them warms up

class Measurement {
 public:
  Measurement(Device& device, Work& work, const MeasureOptions& options)
      : device_(device), work_(work), options_(options) {
    timing_.launch = options.launch;
    timing_.l2 = options.l2;
  }

  core::Result<Measured> run() {
    const std::int64_t warmups = ASSAY_TRY(warm_up());
    std::unique_ptr<Stopwatch> watch = ASSAY_TRY(make_watch());
    ASSAY_TRY(take_samples(watch));
    timing_.skew_ms = watch->skew_ms();
    summarize();
    kernels_ms_ += static_cast<double>(warmups) * timing_.median_ms;
    return Measured{.timing = std::move(timing_), .kernels_ms = kernels_ms_};
  }

 private:
  // Returns the number of launches.
  core::Result<std::int64_t> warm_up() {
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < options_.num_warmups; ++i) {
      ASSAY_TRY(work_.launch());
      if (i > 0) continue;
      ASSAY_TRY(device_.finish());
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      if (took.count() > kLongLaunchMs) return 1;
    }
    ASSAY_TRY(device_.finish());
    return options_.num_warmups;
  }

  // Makes a stopwatch with as many launches in a sample as the length of the work asks for.
  core::Result<std::unique_ptr<Stopwatch>> make_watch() {
    if (options_.repeat_n > 0) return watch_of(options_.repeat_n);
    std::unique_ptr<Stopwatch> probe = ASSAY_TRY(watch_of(1));
    std::int64_t launches = ASSAY_TRY(launches_wanted(*probe));
    if (launches <= 1) return probe;
    probe.reset();
    // Most of the time of one short launch is that of the events around it.
    if (launches > kProbeLaunches) {
      probe = ASSAY_TRY(watch_of(kProbeLaunches));
      launches = ASSAY_TRY(launches_wanted(*probe));
      probe.reset();
    }
    return watch_of(launches);
  }

  core::Result<std::int64_t> launches_wanted(Stopwatch& probe) {
    const double once_ms = ASSAY_TRY(probe.sample(1)).front();
    kernels_ms_ += once_ms * static_cast<double>(timing_.launches_per_sample);
    return launches_for(once_ms);
  }

  [[nodiscard]] std::int64_t launches_for(double once_ms) const {
    const double launches = std::ceil(options_.sample_ms / std::max(once_ms, 1e-6));
    return static_cast<std::int64_t>(std::min(launches, static_cast<double>(kMostLaunches)));
  }

  core::Result<std::unique_ptr<Stopwatch>> watch_of(std::int64_t launches) {
    timing_.launches_per_sample = launches;
    auto watch =
        device_.stopwatch(work_, {.launch = timing_.launch, .launches_per_sample = launches});
    const bool retry = !watch.ok() && timing_.launch == Launch::kGraph && options_.allow_eager &&
                       !device_.is_lost();
    if (!retry) return watch;
    timing_.launch = Launch::kEager;
    return device_.stopwatch(work_, {.launch = Launch::kEager, .launches_per_sample = launches});
  }

  core::Status sample(Stopwatch& watch, std::int64_t count) {
    const std::vector<double> times_ms = ASSAY_TRY(watch.sample(count));
    timing_.samples_ms.insert(timing_.samples_ms.end(), times_ms.begin(), times_ms.end());
    kernels_ms_ += core::sum(times_ms) * static_cast<double>(timing_.launches_per_sample);
    return {};
  }

  // On a busy processor a trial may meet a stall, and ask for too few launches. Then the samples,
  // most of which met none, ask for more than twice as many.
  core::Status take_first_samples(std::unique_ptr<Stopwatch>& watch) {
    const std::int64_t fewest = std::max<std::int64_t>(options_.min_samples, 1);
    for (int trial = 1;; ++trial) {
      ASSAY_TRY(sample(*watch, options_.num_runs > 0 ? options_.num_runs : fewest));
      const std::int64_t launches = launches_for(core::median(timing_.samples_ms));
      const bool believed = launches <= 2 * timing_.launches_per_sample;
      if (believed || options_.repeat_n > 0 || trial == kMostTrials) return {};
      timing_.samples_ms.clear();
      watch.reset();
      watch = ASSAY_TRY(watch_of(launches));
    }
  }

  core::Status take_samples(std::unique_ptr<Stopwatch>& watch) {
    ASSAY_TRY(take_first_samples(watch));
    while (options_.num_runs <= 0 && !is_enough()) {
      const auto taken = static_cast<std::int64_t>(timing_.samples_ms.size());
      ASSAY_TRY(sample(*watch, std::min({taken, kMostAtOnce, options_.max_samples - taken})));
    }
    return {};
  }

  [[nodiscard]] bool is_enough() const {
    const double total_ms =
        core::sum(timing_.samples_ms) * static_cast<double>(timing_.launches_per_sample);
    const auto taken = static_cast<std::int64_t>(timing_.samples_ms.size());
    if (taken >= options_.max_samples || total_ms >= options_.max_time_ms) return true;
    if (total_ms < options_.min_time_ms) return false;
    const core::Interval interval = core::median_interval(timing_.samples_ms, core::kMedianTail);
    const double median_ms = core::median(timing_.samples_ms);
    return std::max(interval.high - median_ms, median_ms - interval.low) <=
           options_.certainty * median_ms;
  }

  void summarize() {
    const std::vector<double>& samples = timing_.samples_ms;
    const core::Interval interval = core::median_interval(samples, core::kMedianTail);
    timing_.median_ms = core::median(samples);
    timing_.mean_ms = core::mean(samples);
    timing_.p10_ms = core::quantile(samples, 0.1);
    timing_.p90_ms = core::quantile(samples, 0.9);
    timing_.low_ms = interval.low;
    timing_.high_ms = interval.high;
  }

  Device& device_;
  Work& work_;
  const MeasureOptions& options_;
  Timing timing_;
  double kernels_ms_ = 0;
};

class ClockStopwatch final : public Stopwatch {
 public:
  ClockStopwatch(Work& work, std::int64_t launches) : work_(work), launches_(launches) {}

  core::Result<std::vector<double>> sample(std::int64_t count) override {
    std::vector<double> times_ms;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto start = std::chrono::steady_clock::now();
      for (std::int64_t launch = 0; launch < launches_; ++launch) {
        ASSAY_TRY(work_.launch());
      }
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      times_ms.push_back(took.count() / static_cast<double>(launches_));
    }
    return times_ms;
  }

 private:
  Work& work_;
  std::int64_t launches_;
};

}  // namespace

core::Result<Measured> measure(Device& device, Work& work, const MeasureOptions& options) {
  return Measurement(device, work, options).run();
}

std::unique_ptr<Stopwatch> make_clock_stopwatch(Work& work, std::int64_t launches_per_sample) {
  return std::make_unique<ClockStopwatch>(work, launches_per_sample);
}

}  // namespace assay::collect
