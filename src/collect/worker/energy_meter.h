// The mean power of a device while it runs a kernel, from its energy counter.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "collect/worker/conditions.h"
#include "core/result.h"

namespace assay::collect {

// Watches the counter in a thread of its own, so that the load never waits for a look at it. The
// counter moves in steps, about every 100 ms on an H200. Power is the difference between two steps
// over the time between them: what is before the first and after the last step does not count.
class EnergyMeter {
 public:
  // Begins to watch. The reader must outlive the meter, and nobody else may use it meanwhile.
  explicit EnergyMeter(StateReader& reader);
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;
  ~EnergyMeter();

  // Returns the time between the first and the last step so far; 0 before the second one.
  [[nodiscard]] double seconds() const;

  // Returns whether there is no counter, or it cannot be read, so that no step will come.
  [[nodiscard]] bool has_failed() const { return failed_; }

  // Ends the watch. Returns W; std::nullopt before the second step. Error: that of the reader.
  core::Result<std::optional<double>> watts();

 private:
  struct Step {
    double seconds = 0;
    double joules = 0;
  };

  void watch();
  void stop();

  StateReader& reader_;
  mutable std::mutex mutex_;
  std::optional<Step> first_;
  Step last_;
  core::Status status_;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace assay::collect
