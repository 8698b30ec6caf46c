#include "store/files/columns.h"

#include <algorithm>
#include <array>

namespace assay::store {
namespace {

constexpr std::array<std::string_view, 16> kSizes = {
    "m",     "n",       "k",         "batch_size", "isl",
    "step",  "seq_len", "num_heads", "num_tokens", "num_token",
    "rows",  "columns", "elements",  "s",          "message_size",
    "bytes",
};

// Besides what ends in a unit.
constexpr std::array<std::string_view, 16> kResults = {
    "latency", "power", "power_limit", "median",    "mean",     "p10", "p90",    "n_samples",
    "samples", "low",   "high",        "throttled", "drifting", "l2",  "launch", "slowdowns",
};

constexpr std::array<std::string_view, 9> kResultUnits = {
    "_ms", "_us", "_gbps", "_mhz", "_celsius", "_joules", "_watts", "_per_sample", "_at",
};

template <class List>
bool holds(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

Role role_of(std::string_view column) {
  if (holds(kResults, column)) return Role::kMeasured;
  const bool has_unit = std::any_of(kResultUnits.begin(), kResultUnits.end(),
                                    [&](std::string_view unit) { return column.ends_with(unit); });
  if (has_unit) return Role::kMeasured;
  return holds(kSizes, column) ? Role::kSize : Role::kExact;
}

Curve curve_of(std::string_view column) {
  return column == "isl" || column == "seq_len" || column == "s" ? Curve::kCubic : Curve::kLine;
}

std::string table_name(std::string_view text) {
  text = text.substr(text.rfind('/') + 1);
  text = text.substr(0, text.find('.'));
  const std::string name(text);
  return name.empty() || name.ends_with("_perf") ? name : name + "_perf";
}

}  // namespace assay::store
