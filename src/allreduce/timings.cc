#include "allreduce/timings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/statistics.h"

namespace assay::allreduce {
namespace {

constexpr double kNormal95 = 1.96;  // standard errors in half of a 95 % interval

// Returns half of the interval as a logarithm. An interval without width comes from a single sample
// and is replaced by the noise.
double half_width(const Measurement& run, double noise) {
  const bool has_interval = run.low_us > 0 && run.high_us > run.low_us;
  return has_interval ? std::log(run.high_us / run.low_us) / 2 : std::log1p(noise);
}

Timing single(const Measurement& run, double noise) {
  Timing timing{.strategy = run.strategy,
                .time_us = run.time_us,
                .low_us = run.low_us,
                .high_us = run.high_us,
                .runs = 1,
                .confidence = interval_confidence(run.samples)};
  if (!(run.low_us > 0 && run.high_us > run.low_us)) {
    timing.low_us = run.time_us / (1 + noise);
    timing.high_us = run.time_us * (1 + noise);
    timing.confidence = 0;
  }
  return timing;
}

Timing joined(const std::vector<const Measurement*>& runs, double noise) {
  if (runs.size() == 1) return single(*runs.front(), noise);
  std::vector<double> logs;
  std::vector<double> variances;
  for (const Measurement* run : runs) {
    logs.push_back(std::log(run->time_us));
    variances.push_back(std::pow(half_width(*run, noise) / kNormal95, 2));
  }
  const double between = std::pow(core::sample_deviation(logs), 2);
  const double variance = std::max(between, core::mean(variances));
  const double half = kNormal95 * std::sqrt(variance / static_cast<double>(runs.size()));
  const double middle = core::mean(logs);
  return {.strategy = runs.front()->strategy,
          .time_us = std::exp(middle),
          .low_us = std::exp(middle - half),
          .high_us = std::exp(middle + half),
          .runs = static_cast<std::int64_t>(runs.size())};
}

std::size_t place_of(Strategy strategy) {
  const auto* found =
      std::find_if(kStrategies.begin(), kStrategies.end(),
                   [&](const StrategySpec& spec) { return spec.strategy == strategy; });
  return static_cast<std::size_t>(found - kStrategies.begin());
}

double between(double smaller, double larger, double part) {
  return smaller * (1 - part) + larger * part;
}

}  // namespace

double interval_confidence(std::int64_t samples) {
  if (samples < 1) return kConfidence;
  const double reached =
      core::median_confidence(static_cast<std::size_t>(samples), core::kMedianTail);
  return std::min(reached, kConfidence);
}

std::string confidence_text(double confidence) {
  return fmt::format("{:.4g} %", confidence * kPercent);
}

Timings timings_of(const Benchmark& benchmark, Launch launch, double noise) {
  std::map<Cell, std::map<Strategy, std::vector<const Measurement*>>> runs;
  for (const Measurement& measurement : benchmark.measurements) {
    if (measurement.launch != launch) continue;
    auto& cell = runs[measurement.cell];
    if (measurement.outcome != Outcome::kOk || !(measurement.time_us > 0)) continue;
    cell[measurement.strategy].push_back(&measurement);
  }
  Timings timings;
  for (const auto& [cell, strategies] : runs) {
    std::vector<Timing>& of_cell = timings[cell];
    for (const auto& [strategy, of_strategy] : strategies)
      of_cell.push_back(joined(of_strategy, noise));
    sort_by_time(of_cell);
  }
  return timings;
}

Timings restricted(const Timings& timings, std::span<const Strategy> strategies) {
  Timings kept = timings;
  for (auto& [cell, of_cell] : kept) {
    std::erase_if(of_cell, [&](const Timing& timing) {
      return timing.strategy == Strategy::kAuto ||
             std::find(strategies.begin(), strategies.end(), timing.strategy) == strategies.end();
    });
  }
  return kept;
}

void sort_by_time(std::vector<Timing>& timings) {
  std::sort(timings.begin(), timings.end(), [](const Timing& a, const Timing& b) {
    if (a.time_us != b.time_us) return a.time_us < b.time_us;
    return place_of(a.strategy) < place_of(b.strategy);
  });
}

const Timing* find_timing(std::span<const Timing> timings, Strategy strategy) {
  const auto found = std::find_if(timings.begin(), timings.end(), [&](const Timing& timing) {
    return timing.strategy == strategy;
  });
  return found == timings.end() ? nullptr : &*found;
}

Timing interpolated(const Timing& smaller, const Timing& larger, double part) {
  return {.strategy = smaller.strategy,
          .time_us = between(smaller.time_us, larger.time_us, part),
          .low_us = between(smaller.low_us, larger.low_us, part),
          .high_us = between(smaller.high_us, larger.high_us, part),
          .runs = std::min(smaller.runs, larger.runs),
          .confidence = std::min(smaller.confidence, larger.confidence)};
}

double part_of_bytes(std::int64_t bytes, std::int64_t smaller, std::int64_t larger) {
  return static_cast<double>(bytes - smaller) / static_cast<double>(larger - smaller);
}

double loss_beyond_noise(const Timing& slower, const Timing& faster, double tie) {
  const double beyond_tie = std::log(slower.time_us / faster.time_us) - std::log1p(tie);
  const double beyond_intervals = std::log(slower.low_us / faster.high_us);
  return std::max(0.0, std::min(beyond_tie, beyond_intervals));
}

}  // namespace assay::allreduce
