// The public tables, each declared once: names, columns in the public order, units.
//
// Every table starts with the five common columns and may end with `power,power_limit` (watts).
// A table that is not declared can be read all the same: generic_table_spec() derives its
// declaration from its columns.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/files/frame.h"

namespace assay::store {

enum class ColumnRole : std::uint8_t {
  kKey,      // says what was measured
  kLatency,  // the time
  kResult,   // another measured value
};

enum class ColumnKind : std::uint8_t {
  kWhole,
  kReal,
  kText,
  kDataType,  // a text; earlier versions label bfloat16 as float16
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
  std::vector<std::string> op_names;  // the op_names of its rows; empty for any
  std::vector<TableColumn> columns;   // those after the common ones, in the public order

  // Null if the table has no such column.
  [[nodiscard]] const TableColumn* find(std::string_view column) const;

  // The column of times; null for tables with several of them (DeepEP).
  [[nodiscard]] const TableColumn* latency() const;
};

// The columns that every table has, all texts.
inline constexpr std::array<std::string_view, 5> kCommonColumns = {"framework", "version", "device",
                                                                   "op_name", "kernel_source"};
// The columns that any table may have, in watts.
inline constexpr std::array<std::string_view, 2> kPowerColumns = {"power", "power_limit"};
// Of placed tables: where the power of each row is from ("measured", "interpolated", "modelled"),
// and in percent the median error of a model, as rows that were left out tell it.
inline constexpr std::string_view kPowerSourceColumn = "power_source";
inline constexpr std::string_view kPowerErrorColumn = "power_error";

// Returns whether the column counts something, such as rows or GPUs, and is never negative. Columns
// of tables that nobody declared are known by their names.
bool is_size_column(const TableColumn& column);

bool is_common_column(std::string_view column);
bool is_power_column(std::string_view column);

const std::vector<TableSpec>& table_specs();
// Null if the table is not declared. Other names of files are known too ("comm_perf",
// "custom_all_reduce").
const TableSpec* find_table_spec(std::string_view table);

// Columns that only tables of earlier eras have (perf_file.h); some stores keep them.
inline constexpr std::array<std::string_view, 3> kFormerColumns = {"alpha", "strategy",
                                                                   "layer_name"};

// Every column that a row's key can have: the common ones, those of all declared tables, and those
// of earlier eras, each once.
std::vector<std::string> known_key_columns();

// The declaration that a table's columns suggest: the time is `latency`, `avg_ms` or `latency_ms`;
// columns whose names end in a unit (_us, _ms, _gbps) are results; all others are its key, of which
// rows may lack a value.
TableSpec generic_table_spec(std::string table, const Frame& frame);

// The table of the fastest kernels, whose operator a table's rows are of: "moe_perf" for itself and
// for "moe_perf_others".
std::string_view table_of_fastest(std::string_view table);

// Returns whether the table's times are differences of the times of two kernels. Such times may be
// 0, and no roofline bounds them.
bool holds_differences(std::string_view table);

// The table that a user means: "gemm", "gemm_perf" and "dir/gemm_perf.parquet" are "gemm_perf".
std::string table_name(std::string_view text);

}  // namespace assay::store
