// The columns of a benchmark file in all its dialects, and one row by their names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::allreduce {

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
