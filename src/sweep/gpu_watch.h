// Watches the GPUs during one run: their clocks, temperatures, and the reasons that slowed them
// down while they were busy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpu/devices.h"
#include "model/facts.h"
#include "sweep/observer.h"

namespace assay::sweep {

class GpuWatch {
 public:
  explicit GpuWatch(const ObserverSources& sources);

  // Starts a new run and returns the state of the GPUs before it.
  const gpu::Machine& begin_run();

  // Returns the present state, without the facts that do not change.
  gpu::Machine look();

  [[nodiscard]] model::Facts facts() const;
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  struct Sample {
    bool busy = false;  // true also where the utilization is unknown
    std::optional<double> sm_mhz = {};
    std::optional<double> memory_mhz = {};
    std::optional<double> temperature_celsius = {};
    std::optional<double> power_watts = {};
  };

  using Field = std::optional<double> Sample::*;

  gpu::Machine read(gpu::DeviceReader::Detail detail);
  void add_sample(const gpu::Device& device);
  [[nodiscard]] std::vector<double> medians(Field field) const;

  // Returns whether every GPU was busy in enough looks for its clocks to represent the work.
  [[nodiscard]] bool seen_enough() const;

  // Returns what held the clocks down, as in "software power cap: GPUs 1-7 in 1 of 8 looks", or "".
  [[nodiscard]] std::string held_down() const;
  void add_load(model::Facts& facts) const;

  std::vector<std::unique_ptr<gpu::DeviceReader>> readers_;
  gpu::Machine machine_;  // the state before the run
  std::set<std::string> problems_;
  std::size_t looks_ = 0;
  std::map<int, std::vector<Sample>> samples_;                    // samples by GPU
  std::map<std::string, std::map<int, std::size_t>> slow_looks_;  // counts by reason and GPU
};

}  // namespace assay::sweep
