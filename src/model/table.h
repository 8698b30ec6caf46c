// A table in the form that every writer and comparison uses: xlsx, CSV, JSON and terminal text are
// made from this one declaration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::model {

// An empty cell is a value that does not exist (NaN counts as empty when written).
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

// Which direction of a figure is better. kNeither: a change is neither good nor bad by itself.
enum class Better { kNeither, kLower, kHigher };

struct Column {
  std::string name;
  std::string unit = {};  // "ms", "GB/s", "" for counts and text
  Better better = Better::kNeither;
  std::string description = {};
};

enum class Visibility { kVisible, kHidden };

// A chart that a workbook draws above a table that opens with text, and below any other.
struct Chart {
  std::string title;  // describes what the chart shows
  std::string axis;   // label of the axis of values, with the unit
  // kColumns: one bar for each of `columns`, named by its header and made of the parts in `rows`,
  // end to end. kRows: one bar for each row, named by the first column, with the length given by
  // the first of `columns`. kStacked: one bar for each row, whose parts are `columns`, end to end.
  // kIntervals: a dot for each row; `columns` are its value and the low and high ends of its
  // interval. kScatter: dots on logarithmic axes; the first of `columns` is where they lie, each
  // other one is a series.
  enum class Bars { kColumns, kRows, kStacked, kIntervals, kScatter } bars = Bars::kColumns;
  std::vector<std::string> columns;
  std::vector<std::size_t> rows = {};
  std::string x_axis = {};  // kScatter: label of the other axis, with the unit
};

// How a workbook or a terminal presents a table.
struct Style {
  Visibility visibility = Visibility::kVisible;
  // Names of columns with a red-white-green colour scale around 0 (positive is green).
  std::vector<std::string> color_scales = {};
  // True for an Excel table with filters and row stripes.
  bool excel_table = false;
  // The column that holds a verdict (verdict.h) for each row. This column and `judged_columns` take
  // the verdict's colour.
  std::string verdict_column = {};
  std::vector<std::string> judged_columns = {};
  // Puts the title and the notes in rows above the header rather than in its pop-up note.
  bool opens_with_text = false;
  std::optional<Chart> chart = std::nullopt;
  std::optional<Chart> second_chart = std::nullopt;
};

// The rows of a table whose cells would take too much memory: each is made when it is read.
class RowSource {
 public:
  RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  virtual ~RowSource() = default;

  [[nodiscard]] virtual std::size_t row_count() const = 0;

  // Several threads may call this at the same time.
  virtual void append_row(std::size_t row, std::vector<Cell>& cells) const = 0;
};

struct Table {
  std::string name;   // sheet name, at most 31 characters; file name of the CSV
  std::string title;  // one sentence for readers
  std::vector<Column> columns;
  std::vector<Cell> cells = {};  // row by row
  Style style = {};
  std::vector<std::string> notes = {};  // shown under the title where the format allows
  // Of all rows where it is set; then there are no cells, and only RowReader reads the table.
  std::shared_ptr<const RowSource> source = nullptr;

  [[nodiscard]] std::size_t row_count() const {
    if (source != nullptr) return source->row_count();
    return columns.empty() ? 0 : cells.size() / columns.size();
  }

  [[nodiscard]] const Cell& at(std::size_t row, std::size_t column) const {
    return cells[row * columns.size() + column];
  }

  [[nodiscard]] Cell& at(std::size_t row, std::size_t column) {
    return cells[row * columns.size() + column];
  }

  // The row's size must be the number of columns.
  void add_row(std::vector<Cell> row);

  // Returns the position of the column with this name.
  [[nodiscard]] std::optional<std::size_t> column(std::string_view column_name) const;
};

// Reads the rows of any table. What writes tables uses it.
class RowReader {
 public:
  // The table must outlive the reader.
  explicit RowReader(const Table& table) : table_(&table) {}

  // The cells are valid until the next call.
  std::span<const Cell> row(std::size_t position);

 private:
  const Table* table_;
  std::vector<Cell> made_;
};

// Tables that belong together: one workbook, one folder of CSV files, one JSON document.
struct Book {
  std::string title;
  std::vector<Table> tables = {};

  [[nodiscard]] const Table* find(std::string_view table_name) const;
};

// Makes the rows of all tables that have a source, so that all their cells can be read at once.
void make_rows(Book& book);

// Returns the cell as a number for integers, doubles and booleans; NaN for text and empty cells.
double number(const Cell& cell);

// Returns an empty cell for NaN.
Cell cell_of(double value);

// Returns the cell as text: "" for empty cells, numbers in their shortest exact form.
std::string text(const Cell& cell);

}  // namespace assay::model
