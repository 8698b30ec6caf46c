// What GpuWatch has seen, as facts. Their names do not depend on what was seen: one fact for all
// GPUs, so that runs can be compared.
#include <cmath>
#include <cstdint>

#include "core/statistics.h"
#include "gpu/devices.h"
#include "sweep/gpu_watch.h"

namespace assay::sweep {
namespace {

using model::Cell;
using model::Fact;

constexpr double kClockTolerancePercent = 3;

Cell whole(double value) {
  return std::int64_t{std::llround(value)};
}

void add_text(model::Facts& facts,
              const char* item,
              const std::string& text,
              Fact::Compare compare) {
  if (!text.empty()) facts.push_back({.item = item, .value = text, .compare = compare});
}

Fact clock_fact(const char* item, double mhz, Fact::Compare compare) {
  return {.item = item,
          .value = whole(mhz),
          .unit = "MHz",
          .compare = compare,
          .tolerance_percent = kClockTolerancePercent};
}

}  // namespace

void GpuWatch::add_load(model::Facts& facts) const {
  const Fact::Compare compare = seen_enough() ? Fact::Compare::kWithin : Fact::Compare::kNot;
  const std::vector<double> sm_mhz = medians(&Sample::sm_mhz);
  if (!sm_mhz.empty()) {
    facts.push_back(clock_fact("GPU SM clock under load (median)", core::median(sm_mhz), compare));
    facts.push_back(
        clock_fact("GPU SM clock under load (slowest GPU)", core::minimum(sm_mhz), compare));
  }
  const std::vector<double> memory_mhz = medians(&Sample::memory_mhz);
  if (!memory_mhz.empty()) {
    facts.push_back(
        clock_fact("GPU memory clock under load (median)", core::median(memory_mhz), compare));
  }
  const std::vector<double> temperatures = medians(&Sample::temperature_celsius);
  if (!temperatures.empty()) {
    facts.push_back({.item = "GPU temperature under load (hottest GPU)",
                     .value = whole(core::maximum(temperatures)),
                     .unit = "C",
                     .compare = Fact::Compare::kNot});
  }
  const std::vector<double> watts = medians(&Sample::power_watts);
  if (!watts.empty()) {
    facts.push_back({.item = "GPU power under load (median)",
                     .value = whole(core::median(watts)),
                     .unit = "W",
                     .compare = Fact::Compare::kNot});
  }
  add_text(facts, "GPU clocks held down by", held_down(), Fact::Compare::kNot);
}

model::Facts GpuWatch::facts() const {
  model::Facts facts = gpu::machine_facts(machine_);
  if (!facts.empty()) add_load(facts);
  return facts;
}

}  // namespace assay::sweep
