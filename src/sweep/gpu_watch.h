// The GPUs over one run: clocks, temperatures and what slowed them down while they were busy.
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

  // The GPUs before the run.
  const gpu::Machine& begin_run();

  // The state of now; without what stays the same.
  gpu::Machine look();

  [[nodiscard]] model::Facts facts() const;
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  struct Sample {
    bool busy = false;  // or unknown: then taken for it
    std::optional<double> sm_mhz = {};
    std::optional<double> memory_mhz = {};
    std::optional<double> temperature_celsius = {};
    std::optional<double> power_watts = {};
  };

  using Field = std::optional<double> Sample::*;

  gpu::Machine read(gpu::DeviceReader::Detail detail);
  void add_sample(const gpu::Device& device);
  [[nodiscard]] std::vector<double> medians(Field field) const;

  // Whether every GPU was busy often enough for its clocks to be those of the work.
  [[nodiscard]] bool seen_enough() const;

  // "software power cap: GPUs 1-7 in 1 of 8 looks"; "" when nothing held the clocks down.
  [[nodiscard]] std::string held_down() const;
  void add_load(model::Facts& facts) const;

  std::vector<std::unique_ptr<gpu::DeviceReader>> readers_;
  gpu::Machine machine_;  // before the run
  std::set<std::string> problems_;
  std::size_t looks_ = 0;
  std::map<int, std::vector<Sample>> samples_;                    // by GPU
  std::map<std::string, std::map<int, std::size_t>> slow_looks_;  // by reason and GPU
};

}  // namespace assay::sweep
