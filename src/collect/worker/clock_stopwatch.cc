#include "collect/worker/clock_stopwatch.h"

#include <chrono>

namespace assay::collect {
namespace {

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

std::unique_ptr<Stopwatch> make_clock_stopwatch(Work& work, std::int64_t launches_per_sample) {
  return std::make_unique<ClockStopwatch>(work, launches_per_sample);
}

}  // namespace assay::collect
