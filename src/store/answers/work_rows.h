// The rows of a table, in the order and form in which queries need them: by family (equal exact
// values), within a family by curve (equal sizes but one), within a curve by that size. They lie in
// memory as they lie in the file that a shipped system is mapped from (packed_tables.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/answers/spread.h"
#include "store/answers/table_index.h"
#include "store/answers/work.h"
#include "store/database/modelled_power.h"
#include "store/files/frame.h"

namespace assay::store {

// A median's interval as a row keeps it; 0 samples: unknown.
struct RowInterval {
  double low = 0;
  double high = 0;
  std::uint64_t samples = 0;
};

struct WorkRows {
  std::string table;
  Work work;
  std::vector<ExactColumn> exact;         // what a query's value must match, or what it leaves open
  std::vector<std::string> sizes;         // numbers that may lie between or beyond measured ones
  std::shared_ptr<const void> data = {};  // what the spans lie in; null: in the program itself
  std::span<const std::uint32_t> codes = {};     // of each family: a value of each exact column
  std::span<const std::uint64_t> begins = {};    // of each family, its first row; and one more
  std::span<const double> values = {};           // of each row: a value of each size
  std::span<const double> latencies = {};        // ms, by row
  std::span<const RowInterval> intervals = {};   // by row, or empty
  std::span<const double> watts = {};            // of a GPU, by row; NaN: unknown; or empty
  std::span<const std::uint8_t> throttled = {};  // by row, 1 at lowered clocks; or empty
  std::size_t num_unusable = 0;  // rows of the table that are not here: a time or size is no number
  // What the rows tell of the errors of answers, with the rooflines of the device that measured
  // them; null: not told yet.
  const Spreads* spreads = nullptr;
  // By which rows without a power may be told one; null: by nothing.
  std::shared_ptr<const TablePower> power = nullptr;

  [[nodiscard]] std::size_t num_families() const { return begins.size() - 1; }

  [[nodiscard]] std::size_t num_rows() const { return latencies.size(); }

  [[nodiscard]] std::span<const double> sizes_of(std::size_t row) const {
    return values.subspan(row * sizes.size(), sizes.size());
  }

  [[nodiscard]] std::span<const std::uint32_t> codes_of(std::size_t family) const {
    return codes.subspan(family * exact.size(), exact.size());
  }

  // The exact values, as rooflines are asked for (RooflineBinder).
  [[nodiscard]] std::vector<model::PerfField> exact_fields(std::size_t family) const;

  // "gemm_dtype=fp8 window_size=0", with the columns that have several values.
  [[nodiscard]] std::string family_name(std::size_t family) const;
};

// The work of a table with these sizes, of which `values` holds one for each row and size.
Work work_of_rows(const std::string& table,
                  const std::vector<std::string>& sizes,
                  std::span<const double> values);

// Errors: the column of latencies, or every row, is missing.
core::Result<WorkRows> make_work_rows(const std::string& table, const Frame& frame);

// The rows whose numbers `keep` takes, in the same order. Families stay, though they may have no
// row.
WorkRows kept_rows(const WorkRows& rows, const std::function<bool(std::size_t row)>& keep);

struct TimedRows {
  WorkRows rows;
  std::size_t left_out = 0;  // rows of the table without a usable time
};

// Without the rows whose time no kernel takes (0, less, or no finite number), and the families that
// have no others; there may be none left. Times of 0 stay where they are differences
// (table_spec.h).
TimedRows timed_rows(WorkRows rows);

// The same rows. Error: no row is left.
core::Result<WorkRows> with_times(WorkRows rows);

// The rows of other families than these, with the same spreads.
WorkRows without_families(const WorkRows& rows, std::span<const std::size_t> families);

}  // namespace assay::store
