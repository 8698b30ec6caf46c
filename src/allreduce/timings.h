// The times of a benchmark by cell: repeated runs joined, intervals completed, failures left out.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allreduce/strategy.h"
#include "model/warnings.h"

namespace assay::allreduce {

// What a benchmark asks and what it found: a cell is a shape, a measurement is one strategy in one
// cell.

struct Cell {
  int world_size = 2;  // GPUs: the tensor-parallel size
  DataType data_type = DataType::kBfloat16;
  Fusion fusion = Fusion::kNone;
  std::int64_t hidden_size = 128;  // elements of a token
  std::int64_t num_tokens = 1;

  [[nodiscard]] std::int64_t size_bytes() const {
    return num_tokens * hidden_size * bytes_of(data_type);
  }

  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the generated code for ours.
  auto operator<=>(const Cell&) const = default;
};

enum class Outcome : std::uint8_t {
  kOk = 0,
  kUnsupported = 1,  // the strategy cannot do this cell; `reason` says why
  kIncorrect = 2,    // it ran and its output was wrong: never timed
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
  // Of one call on the slowest rank, microseconds; NaN when not measured.
  double time_us = kUnknown;  // median over the samples
  double low_us = kUnknown;   // 95 % interval of that median, from order statistics
  double high_us = kUnknown;
  double min_us = kUnknown;
  std::int64_t samples = 0;
  std::int64_t memory_bytes = 0;  // of device memory in use on the fullest GPU; 0: not known
  std::string reason = {};        // what is behind any outcome but ok; one line
};

// One benchmark file, or several of one SM: what tables, figures and verdicts are made of.
struct Benchmark {
  int sm_version = 0;  // 90
  std::vector<Measurement> measurements;
  model::Warnings warnings = {};  // rows of the files that are none of ours
};

// Half of the 95 % interval of a time whose file gives none, as a part of the time. The public
// tool's files hold one median of ten each.
inline constexpr double kDefaultNoise = 0.02;

struct Timing {
  Strategy strategy = Strategy::kNccl;
  double time_us = 0;
  double low_us = 0;  // 95 % interval
  double high_us = 0;
  std::int64_t runs = 1;
};

// Fastest first; equally fast ones in the order of kStrategies. A cell where nothing succeeded is
// there and empty.
using Timings = std::map<Cell, std::vector<Timing>>;

// All that succeeded, AUTO too. Several measurements of one strategy in one cell are repeated
// runs: their geometric mean, with an interval from the larger of the scatter between the runs and
// that within them.
Timings timings_of(const Benchmark& benchmark, Launch launch, double noise = kDefaultNoise);

// The same cells with these strategies only, never AUTO.
Timings restricted(const Timings& timings, std::span<const Strategy> strategies);

// Into the order of Timings.
void sort_by_time(std::vector<Timing>& timings);

// Nothing when the strategy was not timed there.
const Timing* find_timing(std::span<const Timing> timings, Strategy strategy);

// Between two sizes of one strategy, on the straight line over logarithms; `part` of the way, by
// the logarithm of the bytes, from the smaller (0) to the larger (1).
Timing interpolated(const Timing& smaller, const Timing& larger, double part);

// By how much `slower` takes longer than `faster` beyond noise, as a natural logarithm: 0 when the
// gain is below `tie` or the intervals overlap, and growing steadily from there.
double loss_beyond_noise(const Timing& slower, const Timing& faster, double tie);

}  // namespace assay::allreduce
