// Benchmark files: benchmark.tp{N}.sm{V}.csv, in TensorRT-LLM's columns with ours after them.
//
//   world_size,dtype,size,num_tokens,hidden_size,strategy,fusion,op,time (us),
//   launch,low (us),high (us),min (us),samples,memory (bytes),outcome,reason
//
// Each measurement is one line. The time is empty where there is none, which pandas reads as NaN.
// Eager launches and data types other than bfloat16 have files of their own, because the public
// tools do not distinguish them: benchmark.tp4.sm90.float16.eager.csv.
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

// The fields of a benchmark file's name.
struct BenchmarkFileName {
  int world_size = 0;
  int sm_version = 0;
  DataType data_type = DataType::kBfloat16;
  Launch launch = Launch::kGraph;

  [[nodiscard]] std::string text() const;
};

// Returns std::nullopt for a name that does not have this form.
std::optional<BenchmarkFileName> benchmark_file_name(std::string_view name);

// Both return a line without its line end.
std::string_view benchmark_csv_header();
std::string benchmark_csv_line(const Measurement& measurement);

// Reads any of the dialects: ours, TensorRT-LLM's with or without `op` or with `version`, with
// `fusion_op` or `time_ms`, and that of its --benchmark mode (size_bytes, time_us, algbw_GBps).
// Columns are found by name, in any order, and unknown ones are ignored. Rows that TensorRT-LLM may
// write but that we have no use for (its other strategies and fusions, an `op` other than
// "allreduce") are left out and counted in `warnings`. So are rows of NCCL with one of its settings
// (NCCL_RING_LL_8), but not counted: nccl_csv.h reads them. Several rows of one cell and strategy
// remain several measurements.
//
// Errors name the file and the line. Examples are an unknown name, a size that is not
// tokens x hidden x bytes of an element, and a row that contradicts the file's name.
core::Result<std::vector<Measurement>> read_benchmark_csv(const std::filesystem::path& path,
                                                          model::Warnings* warnings = nullptr);

// Does the same for text that is already in memory. `path` serves for messages and for the fields
// of its name.
core::Result<std::vector<Measurement>> parse_benchmark_csv(std::string_view text,
                                                           const std::filesystem::path& path,
                                                           model::Warnings* warnings = nullptr);

// The benchmark files of one SM version in a folder.
struct BenchmarkFolder {
  int sm_version = 0;
  std::vector<std::filesystem::path> files;  // sorted by world size, then data type
};

// Finds the files of `launch` and `sm_version`, which may be std::nullopt when the folder has files
// of only one SM version. Fails when no file fits, or when there are several SM versions and none
// is given.
core::Result<BenchmarkFolder> find_benchmarks(const std::filesystem::path& folder,
                                              std::optional<int> sm_version,
                                              Launch launch = Launch::kGraph);

// The same for the files of all launches.
core::Result<BenchmarkFolder> find_all_benchmarks(const std::filesystem::path& folder,
                                                  std::optional<int> sm_version);

// Reads all measurements of the files. Fails when a file cannot be read or when there is no row.
core::Result<Benchmark> read_benchmarks(const BenchmarkFolder& folder);

// The columns of a benchmark file in all its dialects, and access to the fields of a row by column.

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

// The position of each of our columns in the file.
class BenchmarkColumns {
 public:
  // `fields` are those of the file's first line. Fails when a column is missing or is there twice.
  static core::Result<BenchmarkColumns> read(const std::vector<std::string>& fields);

  [[nodiscard]] std::optional<std::size_t> place(Column column) const {
    return places_.at(static_cast<std::size_t>(column));
  }

  [[nodiscard]] std::size_t width() const { return width_; }

  // Returns whether times have the name of the public microbenchmark.
  [[nodiscard]] bool has_public_times() const { return has_public_times_; }

 private:
  std::array<std::optional<std::size_t>, kColumnCount> places_;
  std::size_t width_ = 0;
  bool has_public_times_ = false;
};

// One line of the file, which must have as many fields as the first. Errors do not name the line.
class BenchmarkRow {
 public:
  BenchmarkRow(const BenchmarkColumns& columns, const std::vector<std::string>& fields)
      : columns_(columns), fields_(fields) {}

  // Returns "" where the file has no such column.
  [[nodiscard]] std::string_view text(Column column) const;

  // Returns whether the row is one of the public microbenchmark's that it did not measure: it
  // writes a time of 0 for these.
  [[nodiscard]] bool has_no_public_time() const;

  [[nodiscard]] core::Result<std::int64_t> number(Column column,
                                                  std::int64_t least,
                                                  std::int64_t most) const;

  // Returns std::nullopt where the field is empty or not a whole number.
  [[nodiscard]] std::optional<std::int64_t> whole_number(Column column) const;

  // Returns NaN where the field is empty or "nan". Fails for a time below
  // 1e-6 or above 1e15.
  [[nodiscard]] core::Result<double> time(Column column) const;

  // Returns `value`, the meaning of the field, or an error that lists the known names.
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
