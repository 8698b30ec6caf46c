// The contents of a performance database: rows of the public tables, and how each was measured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace assay::model {

// A table of this ending has the rows of kernels that were slower than those in the table of the
// same name without it.
inline constexpr const char* kOthersEnding = "_others";

using PerfValue = std::variant<std::int64_t, double, std::string>;

struct PerfField {
  std::string column;
  PerfValue value;

  bool operator==(const PerfField& other) const = default;
};

// A row in the form of the public tables. `table` is the stem of the file: "gemm_perf".
struct PerfRow {
  std::string table;
  std::string framework;       // "assay"; for imported rows "TRTLLM", "VLLM" or "SGLang"
  std::string version;         // the version of the framework or library that ran the kernels
  std::string device;          // "NVIDIA H200"
  std::string op_name;         // "gemm"
  std::string kernel_source;   // the kernels that really ran: "cublaslt"
  std::vector<PerfField> key;  // the columns that identify the measurement, in the file's order
  double latency_ms = 0;
  std::optional<double> power_watts = {};  // the mean while the kernels ran
  std::optional<double> power_limit_watts = {};
};

// How kernels are launched: many replayed from a CUDA graph, back to back; one by one from the
// host, in which case launching may be part of the time; or one alone in a graph, of which nothing
// before it hides the start.
enum class Launch : std::uint8_t { kGraph, kEager, kIsolated };

inline constexpr std::array<std::string_view, 3> kLaunchNames = {"graph", "eager", "isolated"};

constexpr std::string_view name_of(Launch launch) {
  return kLaunchNames[static_cast<std::size_t>(launch)];
}

constexpr std::optional<Launch> launch_named(std::string_view name) {
  if (name == name_of(Launch::kGraph)) return Launch::kGraph;
  if (name == name_of(Launch::kEager)) return Launch::kEager;
  if (name == name_of(Launch::kIsolated)) return Launch::kIsolated;
  return std::nullopt;
}

// What of the data that a launch reads may still be in the L2 cache from the previous launch:
// everything, nothing, or, as engines find it, activations but neither weights nor caches of keys
// and values.
enum class L2State : std::uint8_t { kHot, kCold, kEngine };

inline constexpr std::array<std::string_view, 3> kL2Names = {"hot", "cold", "engine"};

constexpr std::string_view name_of(L2State state) {
  return kL2Names[static_cast<std::size_t>(state)];
}

constexpr std::optional<L2State> l2_state_named(std::string_view name) {
  for (const L2State state : {L2State::kHot, L2State::kCold, L2State::kEngine}) {
    if (name == name_of(state)) return state;
  }
  return std::nullopt;
}

struct Timing {
  double median_ms = 0;  // the time of one launch
  double mean_ms = 0;
  double p10_ms = 0;
  double p90_ms = 0;
  // The interval of the median, by core::median_interval(): it holds it with at least 95 % from six
  // samples on, and with core::median_confidence() of fewer. 0 where a worker gives none.
  double low_ms = 0;
  double high_ms = 0;
  std::int64_t launches_per_sample = 1;
  Launch launch = Launch::kGraph;
  L2State l2 = L2State::kHot;
  std::vector<double> samples_ms = {};  // in the order of measurement
  // With several GPUs, the median of the slowest rank minus that of the fastest. The times above
  // are those of the slowest rank.
  std::optional<double> skew_ms = {};
};

// The state of the GPU while a row was measured. Values that the driver does not report are empty.
struct Conditions {
  std::optional<std::int64_t> sm_mhz_before = {};
  std::optional<std::int64_t> sm_mhz_after = {};
  std::optional<std::int64_t> memory_mhz_before = {};
  std::optional<std::int64_t> memory_mhz_after = {};
  std::optional<double> temperature_celsius = {};
  std::vector<std::string> slowdowns = {};  // reasons for lowered clocks, in words
  std::optional<double> energy_joules = {};
  bool throttled = false;  // clocks were lowered, also when the row was measured again
  bool drifting =
      false;  // first and last samples differ by more than their spread, also when measured again
};

struct PerfMeasurement {
  PerfRow row;
  Timing timing;
  Conditions conditions;
};

}  // namespace assay::model
