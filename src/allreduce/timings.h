// The times of a benchmark by cell. Repeated runs are joined, missing intervals are filled in, and
// failures are told apart.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allreduce/strategy.h"
#include "model/warnings.h"

namespace assay::allreduce {

// The data of a benchmark: a cell is a shape, and a measurement is one strategy in one cell.

struct Cell {
  int world_size = 2;  // number of GPUs: the tensor-parallel size
  DataType data_type = DataType::kBfloat16;
  Fusion fusion = Fusion::kNone;
  std::int64_t hidden_size = 128;  // elements per token
  std::int64_t num_tokens = 1;

  [[nodiscard]] std::int64_t size_bytes() const {
    return num_tokens * hidden_size * bytes_of(data_type);
  }

  // NOLINTNEXTLINE(modernize-use-nullptr): the check mistakes the generated code for ours.
  auto operator<=>(const Cell&) const = default;
};

enum class Outcome : std::uint8_t {
  kOk = 0,
  kUnsupported = 1,  // the strategy cannot do this cell; `reason` says why
  kIncorrect = 2,    // it ran and its output was wrong, so it was not timed
  kError = 3,
  kHang = 4,
};

inline constexpr std::array<std::string_view, 5> kOutcomeNames = {"ok", "unsupported", "incorrect",
                                                                  "error", "hang"};

inline constexpr double kPercent = 100;
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct Measurement {
  Cell cell;
  Strategy strategy = Strategy::kNccl;
  Launch launch = Launch::kGraph;
  Outcome outcome = Outcome::kOk;
  // Times of one call on the slowest rank, in microseconds; NaN when not measured.
  double time_us = kUnknown;  // median over the samples
  double low_us = kUnknown;   // interval of that median, from order statistics: at least 95 % from
                              // six samples on, 93.75 % of five
  double high_us = kUnknown;
  double min_us = kUnknown;
  std::int64_t samples = 0;
  std::int64_t memory_bytes = 0;  // device memory in use on the fullest GPU; 0 if not known
  std::string reason = {};        // the reason for any outcome except ok, in one line
};

// The content of one or more benchmark files of one SM, from which tables, figures and verdicts are
// made.
struct Benchmark {
  int sm_version = 0;  // 90 for SM90
  std::vector<Measurement> measurements;
  model::Warnings warnings = {};  // counts the rows of the files that we have no use for
};

// What an interval is said to hold its time with, unless its samples were too few for that.
inline constexpr double kConfidence = 0.95;

// Returns the confidence of an interval by order statistics: kConfidence from six samples on, or
// where it is not known of how many samples it is; 0.9375 of five.
double interval_confidence(std::int64_t samples);

// Returns "95 %" or "93.75 %".
std::string confidence_text(double confidence);

// Half of the 95 % interval, as a fraction of the time, for a time whose file gives no interval. In
// the public tool's files each time is one median of ten.
inline constexpr double kDefaultNoise = 0.02;

struct Timing {
  Strategy strategy = Strategy::kNccl;
  double time_us = 0;
  double low_us = 0;  // interval that holds the time with `confidence`; 0: the noise is assumed
  double high_us = 0;
  std::int64_t runs = 1;  // 0: interpolated where none ran (with_gaps_filled)
  double confidence = kConfidence;
};

// Sorted by time, the fastest first; equally fast strategies are in the order of kStrategies. A
// cell where nothing succeeded is there and empty.
using Timings = std::map<Cell, std::vector<Timing>>;

// Tells why a strategy may not be chosen in a cell that it was tried in.
struct Failure {
  std::string what = {};    // an outcome's name, or "impossible time"
  std::string reason = {};  // in one line; "" if nothing tells it
};

using Failures = std::map<Cell, std::map<Strategy, Failure>>;

// Returns how a measurement failed: by wrong sums, an error, a hang, or a time that is shorter than
// the links of this SM need (link_limit_us). What a strategy does not support is no failure.
std::optional<Failure> failure_of(const Measurement& measurement, int sm_version);

// Returns what failed in any of its runs.
Failures failures_of(const Benchmark& benchmark, Launch launch);

// Returns the time of one run that succeeded, with the noise as its interval where it has none.
Timing timing_of(const Measurement& run, double noise = kDefaultNoise);

// Returns the times of all that succeeded in each of its runs, AUTO too. Several measurements of
// one strategy in one cell are repeated runs and become their geometric mean; its interval comes
// from the scatter between runs, of this cell or of the strategy's cells of about its size and
// number of GPUs, or from the scatter within them, whichever is larger. A measurement that is there
// twice, with the same interval, is one run.
Timings timings_of(const Benchmark& benchmark, Launch launch, double noise = kDefaultNoise);

// Adds a time wherever a strategy has no row in a cell, neither a time nor an outcome, and was
// timed in the cells of the row before and behind, of which one has at most four times as many
// tokens: a missing line is no reason against a strategy. Its interval goes from one to the other.
Timings with_gaps_filled(const Timings& timings, const Benchmark& benchmark, Launch launch);

// Returns the same cells with only these strategies, and never AUTO.
Timings restricted(const Timings& timings, std::span<const Strategy> strategies);

// Sorts into the order of Timings.
void sort_by_time(std::vector<Timing>& timings);

// Returns nullptr when the strategy is not among the timings.
const Timing* find_timing(std::span<const Timing> timings, Strategy strategy);

// Returns the time at `part` of the way from one time of a strategy (0) to another (1).
Timing interpolated(const Timing& smaller, const Timing& larger, double part);

// Returns where a size lies between two, from 0 to 1, by its bytes. A strategy's time is nearly a
// latency and a time for each byte (Hockney's model): on 2 and 4 H200 the middle one of three sizes
// of ONESHOT, each twice the one before, is off the others' straight line by 1 %, from 64 KiB to
// 1 MiB, and off a line over logarithms by 4 to 5 %.
double part_of_bytes(std::int64_t bytes, std::int64_t smaller, std::int64_t larger);

// Returns how much longer `slower` takes than `faster`, beyond the noise, as a natural logarithm.
// It is 0 when the gain is below `tie` or the intervals overlap, and grows continuously from there.
double loss_beyond_noise(const Timing& slower, const Timing& faster, double tie);

// Returns whether the gain is below `tie` or the intervals overlap, so that either may be faster.
bool is_tie(const Timing& slower, const Timing& faster, double tie);

}  // namespace assay::allreduce
