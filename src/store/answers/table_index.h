// A performance table that is ready for queries: it has a surface for every combination of exact
// values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/perf.h"
#include "store/answers/grid_surface.h"
#include "store/files/frame.h"

namespace assay::store {

struct Work;

// The least time in ms that a row's key (all its columns but the results) can take; 0 if it is
// unknown.
using KeyRoofline = std::function<double(const std::vector<model::PerfField>& key)>;

enum class ValueKind { kText, kNumber };

struct ExactColumn {
  std::string name;
  ValueKind kind =
      ValueKind::kText;             // kNumber: there may be kAsHeads and "" (missing) all the same
  std::vector<std::string> values;  // distinct, as text, in the order of their numbers or texts
};

// The interval of a row's latency, which is the median of its samples.
struct MedianInterval {
  double low = 0;
  double high = 0;
  std::uint64_t samples = 0;

  // The probability with which it holds the median, if samples are independent. It holds no change
  // from one run to the next.
  [[nodiscard]] double confidence() const;
};

struct Group {
  std::vector<std::uint32_t> exact;  // by column: the index of its value
  GridSurface surface;
  std::vector<std::optional<MedianInterval>> intervals = {};  // by row of the grid; empty: unknown
};

// Rows without a latency, or with a size that is missing or no number.
struct UnusedRows {
  std::int64_t count = 0;
  std::size_t first_row = 0;
};

// num_key_value_heads that is equal to num_heads is an exact value of its own, kAsHeads: both then
// grow together, and a query may name any number of heads.
inline constexpr const char* kAsHeads = "as num_heads";

class TableIndex {
 public:
  // `roofline` may be null. Errors: the column of latencies, or every row, is missing.
  static core::Result<TableIndex> make(const std::string& table,
                                       const Frame& frame,
                                       const KeyRoofline& roofline);

  [[nodiscard]] const std::string& table() const { return table_; }

  [[nodiscard]] const std::vector<ExactColumn>& exact_columns() const { return exact_; }

  // The sizes with more than one value; each surface has all of them, in this order.
  [[nodiscard]] const std::vector<std::string>& size_columns() const { return sizes_; }

  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }

  [[nodiscard]] const std::string& exact_value(const Group& group, std::size_t column) const {
    return exact_[column].values[group.exact[column]];
  }

  [[nodiscard]] const UnusedRows& unused() const { return unused_; }

  // "dtype=bfloat16 window_size=0", with the columns that have several values.
  [[nodiscard]] std::string group_name(const Group& group) const;

 private:
  std::string table_;
  std::vector<ExactColumn> exact_;
  std::vector<std::string> sizes_;
  std::vector<Group> groups_;
  UnusedRows unused_;
};

// The rows by group, as make() cuts a table, for checks that need each row and its duplicates.
struct GroupedRows {
  std::vector<ExactColumn> exact;
  std::vector<std::string> sizes;
  std::vector<std::vector<std::uint32_t>> exact_of_group;
  std::vector<std::vector<std::uint32_t>> rows_of_group;
  std::vector<double> latencies;                              // of each row; NaN if it is missing
  std::vector<double> size_values;                            // sizes.size() for each row
  std::vector<std::optional<MedianInterval>> intervals = {};  // of each row; empty: unknown
  std::vector<double> watts = {};            // of each row; NaN if it is missing; empty: of none
  std::vector<std::uint8_t> throttled = {};  // of each row: 1 at lowered clocks; empty: of none
  UnusedRows unused;
};

// With `work`, the columns that make it are sizes even if they have one value, numbers of key-value
// heads are sizes as others, and labels are left out.
core::Result<GroupedRows> group_rows(const std::string& table,
                                     const Frame& frame,
                                     const Work* work = nullptr);

// An exact value as a row's key has it: a whole number, or a text.
model::PerfValue value_of_text(const std::string& text);

// The key of a group for rooflines, with the sizes at the end, which are to be filled in.
std::vector<model::PerfField> group_key(const GroupedRows& rows, std::size_t group);

// The roofline of a group: that of its key with the sizes filled in. Null if `roofline` is null.
Roofline group_roofline(const KeyRoofline& roofline, const GroupedRows& rows, std::size_t group);

}  // namespace assay::store
