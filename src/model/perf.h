// What a performance database holds: rows of the public tables, and how each was measured.
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

using PerfValue = std::variant<std::int64_t, double, std::string>;

struct PerfField {
  std::string column;
  PerfValue value;

  bool operator==(const PerfField& other) const = default;
};

// A row as the public tables have it. `table` is the stem of the file: "gemm_perf".
struct PerfRow {
  std::string table;
  std::string framework;       // "assay"; "TRTLLM", "VLLM", "SGLang" of imported rows
  std::string version;         // of what ran the kernels
  std::string device;          // "NVIDIA H200"
  std::string op_name;         // "gemm"
  std::string kernel_source;   // "cublaslt": what really ran
  std::vector<PerfField> key;  // the columns that say what was measured, in the file's order
  double latency_ms = 0;
  std::optional<double> power_watts = {};  // mean while it ran
  std::optional<double> power_limit_watts = {};
};

// How kernels are launched: replayed from a CUDA graph, or one by one from the host, so that
// launching may be part of the time.
enum class Launch : std::uint8_t { kGraph, kEager };

inline constexpr std::array<std::string_view, 2> kLaunchNames = {"graph", "eager"};

constexpr std::string_view name_of(Launch launch) {
  return kLaunchNames[static_cast<std::size_t>(launch)];
}

constexpr std::optional<Launch> launch_named(std::string_view name) {
  if (name == name_of(Launch::kGraph)) return Launch::kGraph;
  if (name == name_of(Launch::kEager)) return Launch::kEager;
  return std::nullopt;
}

// Whether what a launch reads may still be in the L2 cache from the launch before.
enum class L2State : std::uint8_t { kHot, kCold };

struct Timing {
  double median_ms = 0;  // of a launch
  double mean_ms = 0;
  double p10_ms = 0;
  double p90_ms = 0;
  double low_ms = 0;  // 95 % interval of the median
  double high_ms = 0;
  std::int64_t launches_per_sample = 1;
  Launch launch = Launch::kGraph;
  L2State l2 = L2State::kHot;
  std::vector<double> samples_ms = {};  // in the order of their measuring
  // Of several GPUs: the slowest and the fastest rank, medians; the times above are the slowest.
  std::optional<double> skew_ms = {};
};

// The GPU while a row was measured. What the driver does not tell is empty.
struct Conditions {
  std::optional<std::int64_t> sm_mhz_before = {};
  std::optional<std::int64_t> sm_mhz_after = {};
  std::optional<std::int64_t> memory_mhz_before = {};
  std::optional<std::int64_t> memory_mhz_after = {};
  std::optional<double> temperature_celsius = {};
  std::vector<std::string> slowdowns = {};  // reasons of lowered clocks, in words
  std::optional<double> energy_joules = {};
  bool throttled = false;  // it stayed so when measured again
  bool drifting = false;   // the same: first and last samples differ by more than their spread
};

struct PerfMeasurement {
  PerfRow row;
  Timing timing;
  Conditions conditions;
};

}  // namespace assay::model
