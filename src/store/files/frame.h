// A table in columns, as CSV and Parquet files hold it; how to build one row by row, and how to
// join several.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "model/perf.h"
#include "model/string_pool.h"

namespace assay::store {

// Each text is kept once, and rows hold its number. There may be words that no row has.
struct TextColumn {
  std::vector<std::uint32_t> codes;
  std::vector<std::string> words;
};

// The words of a TextColumn whose codes are ids of the pool.
std::vector<std::string> words_of(const model::StringPool& pool);

struct FrameColumn {
  using Values = std::variant<std::vector<std::int64_t>, std::vector<double>, TextColumn>;

  std::string name;
  Values values;
  std::vector<bool> missing = {};  // by row; empty if no value is missing

  [[nodiscard]] std::size_t size() const;

  [[nodiscard]] bool is_missing(std::size_t row) const { return !missing.empty() && missing[row]; }

  // The value must not be missing.
  [[nodiscard]] model::PerfValue value(std::size_t row) const;
};

struct Frame {
  std::vector<FrameColumn> columns;  // all of one length

  [[nodiscard]] std::size_t num_rows() const {
    return columns.empty() ? 0 : columns.front().size();
  }

  // Null if there is no such column.
  [[nodiscard]] const FrameColumn* find(std::string_view name) const;
};

// Returns whether both hold the same columns with the same values; NaN equals NaN.
bool same_values(const Frame& a, const Frame& b);

// The value as a text column holds it; a double keeps its point ("128.0").
std::string as_text(const model::PerfValue& value);

// The column as texts; a missing value becomes "".
TextColumn as_text(const FrameColumn& column);

// The number in a row; NaN if it is missing or a text.
double number_at(const FrameColumn& column, std::size_t row);

// The value as queries and their answers spell it: "bfloat16", "128".
std::string value_text(const model::PerfValue& value);

// Builds a column whose type becomes known only with its rows: whole numbers as long as all values
// are whole, then doubles as long as all are numbers, else texts. It never becomes narrower than
// the type of `start`.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(std::string name, FrameColumn::Values start = {})
      : column_{.name = std::move(name), .values = std::move(start)} {}

  void add(std::int64_t value);
  void add(double value);  // NaN is a missing value
  void add(std::string_view value);
  void add_missing();

  [[nodiscard]] bool all_missing() const { return present_ == 0; }

  [[nodiscard]] bool is_text() const { return std::holds_alternative<TextColumn>(column_.values); }

  FrameColumn finish() &&;

 private:
  void become_real();
  void become_text();
  void add_word(std::string_view word);
  void mark(bool missing);

  FrameColumn column_;
  std::unordered_map<std::string, std::uint32_t> codes_;
  std::size_t rows_ = 0;
  std::size_t present_ = 0;
};

// The rows of all frames, one frame after the other, with the columns of all of them; a row lacks
// the values of columns that its frame does not have. A column that is text in one frame is text,
// and one that is whole numbers in all frames stays so.
Frame joined_frames(const std::vector<Frame>& frames);

// The rows with these numbers, in this order.
Frame picked_rows(const Frame& frame, const std::vector<std::size_t>& rows);

}  // namespace assay::store
