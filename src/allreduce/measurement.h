// What a benchmark asks and what it found: a cell is a shape, a measurement is one strategy in one
// cell.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "allreduce/strategy.h"
#include "model/warnings.h"

namespace assay::allreduce {

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

}  // namespace assay::allreduce
