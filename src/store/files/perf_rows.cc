#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_set>

#include "store/files/perf_repair.h"

namespace assay::store {
namespace {

template <class T>
void keep(const std::vector<bool>& kept, std::vector<T>& values) {
  std::size_t to = 0;
  for (std::size_t row = 0; row < kept.size(); ++row) {
    if (kept[row]) values[to++] = values[row];
  }
  values.resize(to);
}

void keep(const std::vector<bool>& kept, FrameColumn& column) {
  if (auto* text = std::get_if<TextColumn>(&column.values)) {
    keep(kept, text->codes);
  } else if (auto* whole = std::get_if<std::vector<std::int64_t>>(&column.values)) {
    keep(kept, *whole);
  } else {
    keep(kept, std::get<std::vector<double>>(column.values));
  }
  if (!column.missing.empty()) keep(kept, column.missing);
}

// Empty: the time is good.
std::string_view fault_of(const FrameColumn& latency, std::size_t row) {
  if (latency.is_missing(row)) return "no time";
  const double value = std::get<std::vector<double>>(latency.values)[row];
  if (!std::isfinite(value)) return "a time that is no finite number";
  return value < 0 ? "a negative time" : "";
}

void drop_rows_without_time(Frame& rows, const FrameColumn& latency, model::Warnings& warnings) {
  std::vector<bool> kept(rows.num_rows(), true);
  for (std::size_t row = 0; row < kept.size(); ++row) {
    const std::string_view fault = fault_of(latency, row);
    if (fault.empty()) continue;
    kept[row] = false;
    warnings.add(fault, "row not read", fmt::format("row {}", row + 1));
  }
  if (std::find(kept.begin(), kept.end(), false) == kept.end()) return;
  for (FrameColumn& column : rows.columns)
    keep(kept, column);
}

void count_zeros(const FrameColumn& latency, model::Warnings& warnings) {
  const auto& values = std::get<std::vector<double>>(latency.values);
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (values[row] == 0)
      warnings.add("a time of 0", "read as it is", fmt::format("row {}", row + 1));
  }
}

// The finaliser of splitmix64: one bit changed changes half of all.
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
  return bits ^ (bits >> 31);
}

void add_to_hashes(const FrameColumn& column, std::vector<std::uint64_t>& hashes) {
  const auto add = [&](const auto& values) {
    using Value = typename std::decay_t<decltype(values)>::value_type;
    for (std::size_t row = 0; row < hashes.size(); ++row) {
      const std::uint64_t hash =
          column.is_missing(row) ? 0 : mixed(std::hash<Value>{}(values[row]) + 1);
      hashes[row] = mixed(hashes[row] * 31 + hash);
    }
  };
  if (const auto* text = std::get_if<TextColumn>(&column.values)) {
    add(text->codes);
  } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&column.values)) {
    add(*whole);
  } else {
    add(std::get<std::vector<double>>(column.values));
  }
}

// By hashes of 64 bits: among a million rows a wrong count is a matter of 1 in 30 million.
void count_repeated_keys(const Frame& rows, const TableSpec& spec, model::Warnings& warnings) {
  std::vector<std::uint64_t> hashes(rows.num_rows(), 0);
  for (const FrameColumn& column : rows.columns) {
    const TableColumn* declared = spec.find(column.name);
    const bool is_common = std::find(common_columns().begin(), common_columns().end(),
                                     column.name) != common_columns().end();
    if (is_common || (declared != nullptr && declared->role == ColumnRole::kKey)) {
      add_to_hashes(column, hashes);
    }
  }
  std::unordered_set<std::uint64_t> seen;
  seen.reserve(hashes.size());
  for (std::size_t row = 0; row < hashes.size(); ++row) {
    if (seen.insert(hashes[row]).second) continue;
    warnings.add("a row with the key of an earlier one", "read as it is",
                 fmt::format("row {}", row + 1));
  }
}

}  // namespace

void check_rows(Frame& rows, const TableSpec& spec, model::Warnings& warnings) {
  const FrameColumn* latency = spec.latency() == nullptr ? nullptr : rows.find("latency");
  if (latency != nullptr) {
    drop_rows_without_time(rows, *latency, warnings);
    count_zeros(*latency, warnings);
  }
  count_repeated_keys(rows, spec, warnings);
}

}  // namespace assay::store
