// Benchmark files: benchmark.tp{N}.sm{V}.csv, in TensorRT-LLM's columns with ours after them.
//
//   world_size,dtype,size,num_tokens,hidden_size,strategy,fusion,op,time (us),
//   launch,low (us),high (us),min (us),samples,memory (bytes),outcome,reason
//
// One line a measurement. A measurement without a time has an empty one, which pandas reads as
// NaN. Eager launches and data types other than bfloat16 have files of their own, because the
// public tools tell neither apart: benchmark.tp4.sm90.float16.eager.csv.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allreduce/timings.h"
#include "core/result.h"

namespace assay::allreduce {

// What a benchmark file's name says.
struct BenchmarkFileName {
  int world_size = 0;
  int sm_version = 0;
  DataType data_type = DataType::kBfloat16;
  Launch launch = Launch::kGraph;

  [[nodiscard]] std::string text() const;
};

// Nothing for a name that is not of this form.
std::optional<BenchmarkFileName> benchmark_file_name(std::string_view name);

std::string_view benchmark_csv_header();                         // without the line's end
std::string benchmark_csv_line(const Measurement& measurement);  // without the line's end

// Reads any of the dialects: ours, TensorRT-LLM's with or without `op` or with `version`, with
// `fusion_op` or `time_ms`, and that of its --benchmark mode (size_bytes, time_us, algbw_GBps).
// Columns by name in any order; unknown ones are ignored. Rows that TensorRT-LLM may write but that
// say nothing to us (its other strategies and fusions, an `op` other than "allreduce") are left out
// and counted in `warnings`. Several rows of one cell and strategy stay several measurements.
//
// An error names file and line: a name that nobody knows, a size that is not tokens x hidden x
// bytes of an element, a row that contradicts the file's name, ....
core::Result<std::vector<Measurement>> read_benchmark_csv(const std::filesystem::path& path,
                                                          model::Warnings* warnings = nullptr);

// The same for what was read already; `path` is for messages and what its name says.
core::Result<std::vector<Measurement>> parse_benchmark_csv(std::string_view text,
                                                           const std::filesystem::path& path,
                                                           model::Warnings* warnings = nullptr);

// The benchmark files of a folder that fit; `sm_version` may be left open when the folder has one
// only. Error: none fits, or several SMs and none named.
struct BenchmarkFolder {
  int sm_version = 0;
  std::vector<std::filesystem::path> files;  // sorted by world size, then data type
};

core::Result<BenchmarkFolder> find_benchmarks(const std::filesystem::path& folder,
                                              std::optional<int> sm_version,
                                              Launch launch = Launch::kGraph);

// All their measurements. Error: of any file, or no row at all.
core::Result<Benchmark> read_benchmarks(const BenchmarkFolder& folder);

// The columns of a benchmark file in all its dialects, and one row by their names.

enum class Column : std::uint8_t {
  kWorldSize,
  kDataType,
  kNumTokens,
  kHiddenSize,
  kStrategy,
  kFusion,
  kTimeUs,
  kTimeMs,
  kSize,
  kOp,
  kLaunch,
  kLow,
  kHigh,
  kMin,
  kSamples,
  kMemory,
  kOutcome,
  kReason,
};

inline constexpr std::size_t kColumnCount = static_cast<std::size_t>(Column::kReason) + 1;

// Where each of our columns is in the file.
class BenchmarkColumns {
 public:
  // `fields` are the file's first line. Error: a column is missing, or there twice.
  static core::Result<BenchmarkColumns> read(const std::vector<std::string>& fields);

  [[nodiscard]] std::optional<std::size_t> place(Column column) const {
    return places_.at(static_cast<std::size_t>(column));
  }

  [[nodiscard]] std::size_t width() const { return width_; }

 private:
  std::array<std::optional<std::size_t>, kColumnCount> places_;
  std::size_t width_ = 0;
};

// One line of the file, which must be as wide as the first. Errors do not say where it is.
class BenchmarkRow {
 public:
  BenchmarkRow(const BenchmarkColumns& columns, const std::vector<std::string>& fields)
      : columns_(columns), fields_(fields) {}

  // "" where the file has no such column.
  [[nodiscard]] std::string_view text(Column column) const;

  [[nodiscard]] core::Result<std::int64_t> number(Column column,
                                                  std::int64_t least,
                                                  std::int64_t most) const;

  // Nothing where the field is empty or no whole number.
  [[nodiscard]] std::optional<std::int64_t> whole_number(Column column) const;

  // NaN where there is none.
  [[nodiscard]] core::Result<double> time(Column column) const;

  // `value` is what the field means; the error is for when it means nothing.
  template <class Value>
  [[nodiscard]] core::Result<Value> named(Column column,
                                          std::optional<Value> value,
                                          const std::vector<std::string>& known) const {
    if (value) return *value;
    return unknown(column, known);
  }

 private:
  [[nodiscard]] core::Error unknown(Column column, const std::vector<std::string>& known) const;

  const BenchmarkColumns& columns_;
  const std::vector<std::string>& fields_;
};

}  // namespace assay::allreduce
