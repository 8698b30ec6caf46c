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

// An interval without width comes from a single sample and is none.
bool has_interval(const Measurement& run) {
  return run.low_us > 0 && run.high_us > run.low_us;
}

// Returns half of the interval, or of the noise where there is none, as a logarithm.
double half_width(const Measurement& run, double noise) {
  return has_interval(run) ? std::log(run.high_us / run.low_us) / 2 : std::log1p(noise);
}

Timing joined(const std::vector<const Measurement*>& runs, double noise) {
  if (runs.size() == 1) return timing_of(*runs.front(), noise);
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

void add_run(std::vector<const Measurement*>& runs, const Measurement& measurement) {
  const bool is_there =
      has_interval(measurement) &&
      std::any_of(runs.begin(), runs.end(), [&](const Measurement* run) {
        return run->time_us == measurement.time_us && run->low_us == measurement.low_us &&
               run->high_us == measurement.high_us && run->samples == measurement.samples;
      });
  if (!is_there) runs.push_back(&measurement);
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

std::optional<Failure> failure_of(const Measurement& measurement, int sm_version) {
  switch (measurement.outcome) {
    case Outcome::kUnsupported:
      return std::nullopt;
    case Outcome::kIncorrect:
    case Outcome::kError:
    case Outcome::kHang:
      return Failure{
          .what = std::string(kOutcomeNames.at(static_cast<std::size_t>(measurement.outcome))),
          .reason = measurement.reason};
    case Outcome::kOk:
      break;
  }
  const Cell& cell = measurement.cell;
  const double limit =
      link_limit_us(measurement.strategy, cell.world_size, cell.size_bytes(), sm_version);
  if (!(measurement.time_us < limit)) return std::nullopt;
  return Failure{.what = "impossible time",
                 .reason = fmt::format("{:.4g} us is less than the links need, {:.4g} us",
                                       measurement.time_us, limit)};
}

Failures failures_of(const Benchmark& benchmark, Launch launch) {
  Failures failures;
  for (const Measurement& measurement : benchmark.measurements) {
    if (measurement.launch != launch) continue;
    std::optional<Failure> failure = failure_of(measurement, benchmark.sm_version);
    if (failure) failures[measurement.cell].emplace(measurement.strategy, std::move(*failure));
  }
  return failures;
}

Timing timing_of(const Measurement& run, double noise) {
  Timing timing{.strategy = run.strategy,
                .time_us = run.time_us,
                .low_us = run.low_us,
                .high_us = run.high_us,
                .runs = 1,
                .confidence = interval_confidence(run.samples)};
  if (!has_interval(run)) {
    timing.low_us = run.time_us / (1 + noise);
    timing.high_us = run.time_us * (1 + noise);
    timing.confidence = 0;
  }
  return timing;
}

Timings timings_of(const Benchmark& benchmark, Launch launch, double noise) {
  const Failures failures = failures_of(benchmark, launch);
  std::map<Cell, std::map<Strategy, std::vector<const Measurement*>>> runs;
  for (const Measurement& measurement : benchmark.measurements) {
    if (measurement.launch != launch) continue;
    auto& cell = runs[measurement.cell];
    if (measurement.outcome != Outcome::kOk || !(measurement.time_us > 0)) continue;
    const auto failed = failures.find(measurement.cell);
    if (failed != failures.end() && failed->second.contains(measurement.strategy)) continue;
    add_run(cell[measurement.strategy], measurement);
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

bool is_tie(const Timing& slower, const Timing& faster, double tie) {
  return loss_beyond_noise(slower, faster, tie) == 0;
}

}  // namespace assay::allreduce
