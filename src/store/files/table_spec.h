// The public tables, each declared once: names, columns in the public order, units.
//
// Every table starts with the five common columns and may end with `power,power_limit` (watts).
// A table that is not declared is read all the same; generic_table_spec() derives what it is from
// its columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/files/frame.h"

namespace assay::store {

enum class ColumnRole : std::uint8_t {
  kKey,      // says what was measured
  kLatency,  // the time
  kResult,   // measured too
};

enum class ColumnKind : std::uint8_t {
  kWhole,
  kReal,
  kText,
  kDataType,  // a text whose label of bfloat16 was float16 in earlier versions
};

enum class Presence : std::uint8_t { kAlways, kSometimes };

struct TableColumn {
  std::string name;
  ColumnKind kind = ColumnKind::kWhole;
  std::string unit = {};  // "tokens", "ms"; empty for names and counts without one
  ColumnRole role = ColumnRole::kKey;
  Presence presence = Presence::kAlways;
};

struct TableSpec {
  std::string table;                  // stem of the file: "gemm_perf"
  std::string family;                 // its folder: "gemm"
  std::vector<std::string> op_names;  // that its rows have; empty: any
  std::vector<TableColumn> columns;   // behind the common ones, in the public order

  // Null: there is none.
  [[nodiscard]] const TableColumn* find(std::string_view column) const;

  // Null for tables of several times (DeepEP).
  [[nodiscard]] const TableColumn* latency() const;
};

// framework, version, device, op_name, kernel_source: all texts.
std::span<const std::string> common_columns();
// power and power_limit, in watts.
std::span<const std::string> power_columns();

const std::vector<TableSpec>& table_specs();
// Null: not declared. Takes other names of a file too ("comm_perf", "custom_all_reduce").
const TableSpec* find_table_spec(std::string_view table);

// Key columns, then the time: `latency`, `avg_ms` or `latency_ms`. Columns with a unit at the end
// of their name (_us, _ms, _gbps) are results.
TableSpec generic_table_spec(std::string table, const Frame& frame);

}  // namespace assay::store
