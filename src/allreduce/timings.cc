#include "allreduce/timings.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <set>
#include <tuple>
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

using Runs = std::vector<const Measurement*>;

std::vector<double> logarithms_of(const Runs& runs) {
  std::vector<double> logs;
  for (const Measurement* run : runs)
    logs.push_back(std::log(run->time_us));
  return logs;
}

// The scatter between repeated runs, of the logarithms of their times. Two runs of one cell say
// little of it; those of a strategy's cells of about one size say much. It depends on both: between
// two runs on 2 H200 it is 0.9 % at 512 bytes, 0.5 % at 64 KiB and 0.2 % at 128 MiB over all
// strategies, and over all sizes 0.3 % of TWOSHOT_PUSH and 0.6 % of NCCL.
struct Scatter {
  double squares = 0;  // of the deviations from the means of their cells
  double freedom = 0;

  void add(const Runs& runs) {
    const auto of_cell = static_cast<double>(runs.size()) - 1;
    if (of_cell < 1) return;
    freedom += of_cell;
    squares += of_cell * std::pow(core::sample_deviation(logarithms_of(runs)), 2);
  }

  [[nodiscard]] double variance() const { return squares / freedom; }
};

using Alike = std::tuple<Strategy, int, int>;  // the number of GPUs, the logarithm of the bytes

Alike alike(Strategy strategy, const Cell& cell) {
  return {strategy, cell.world_size, std::bit_width(static_cast<std::uint64_t>(cell.size_bytes()))};
}

Timing joined(const Runs& runs, const Scatter& scatter, double noise) {
  if (runs.size() == 1) return timing_of(*runs.front(), noise);
  std::vector<double> variances;
  for (const Measurement* run : runs)
    variances.push_back(std::pow(half_width(*run, noise) / kNormal95, 2));
  const std::vector<double> logs = logarithms_of(runs);
  const double between = std::max(core::sample_deviation(logs), std::sqrt(scatter.variance()));
  const double errors = std::max(core::student_t(kConfidence, scatter.freedom) * between,
                                 kNormal95 * std::sqrt(core::mean(variances)));
  const double half = errors / std::sqrt(static_cast<double>(runs.size()));
  const double middle = core::mean(logs);
  return {.strategy = runs.front()->strategy,
          .time_us = std::exp(middle),
          .low_us = std::exp(middle - half),
          .high_us = std::exp(middle + half),
          .runs = static_cast<std::int64_t>(runs.size())};
}

void add_run(Runs& runs, const Measurement& measurement) {
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

// A line between sizes further apart says too little.
constexpr std::int64_t kWidestGap = 4;

bool is_in_row_of(const Cell& one, Cell other) {
  other.num_tokens = one.num_tokens;
  return one == other;
}

// Returns the strategy's time on the line between the cells before and behind, of those that it has
// rows in, where it was timed in both and all three are of one row. It may be anything from the
// time before to the time behind, since some strategies' times have steps.
std::optional<Timing> time_in_gap(const Timings& timings,
                                  const std::set<Cell>& tried,
                                  const Cell& cell,
                                  Strategy strategy) {
  const auto larger = tried.upper_bound(cell);
  if (larger == tried.begin() || larger == tried.end()) return std::nullopt;
  const Cell& smaller = *std::prev(larger);
  if (!is_in_row_of(cell, smaller) || !is_in_row_of(cell, *larger)) return std::nullopt;
  if (larger->num_tokens > kWidestGap * smaller.num_tokens) return std::nullopt;
  const Timing* before = find_timing(timings.at(smaller), strategy);
  const Timing* behind = find_timing(timings.at(*larger), strategy);
  if (!before || !behind) return std::nullopt;
  Timing timing =
      interpolated(*before, *behind,
                   part_of_bytes(cell.size_bytes(), smaller.size_bytes(), larger->size_bytes()));
  timing.low_us = std::min(before->low_us, behind->low_us);
  timing.high_us = std::max(before->high_us, behind->high_us);
  timing.runs = 0;
  return timing;
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
  std::map<Cell, std::map<Strategy, Runs>> runs;
  for (const Measurement& measurement : benchmark.measurements) {
    if (measurement.launch != launch) continue;
    auto& cell = runs[measurement.cell];
    if (measurement.outcome != Outcome::kOk || !(measurement.time_us > 0)) continue;
    const auto failed = failures.find(measurement.cell);
    if (failed != failures.end() && failed->second.contains(measurement.strategy)) continue;
    add_run(cell[measurement.strategy], measurement);
  }
  std::map<Alike, Scatter> scatters;
  for (const auto& [cell, strategies] : runs) {
    for (const auto& [strategy, of_strategy] : strategies)
      scatters[alike(strategy, cell)].add(of_strategy);
  }
  Timings timings;
  for (const auto& [cell, strategies] : runs) {
    std::vector<Timing>& of_cell = timings[cell];
    for (const auto& [strategy, of_strategy] : strategies)
      of_cell.push_back(joined(of_strategy, scatters[alike(strategy, cell)], noise));
    sort_by_time(of_cell);
  }
  return timings;
}

Timings with_gaps_filled(const Timings& timings, const Benchmark& benchmark, Launch launch) {
  std::map<Strategy, std::set<Cell>> tried;
  for (const Measurement& measurement : benchmark.measurements) {
    if (measurement.launch == launch) tried[measurement.strategy].insert(measurement.cell);
  }
  Timings filled = timings;
  for (auto& [cell, of_cell] : filled) {
    for (const auto& [strategy, cells] : tried) {
      if (cells.contains(cell)) continue;
      const std::optional<Timing> timing = time_in_gap(timings, cells, cell, strategy);
      if (timing) of_cell.push_back(*timing);
    }
    sort_by_time(of_cell);
  }
  return filled;
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
