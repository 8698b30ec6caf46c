#include "model/table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "core/check.h"
#include "core/text.h"

namespace assay::model {
namespace {

struct AsNumber {
  double operator()(std::monostate) const { return std::numeric_limits<double>::quiet_NaN(); }

  double operator()(bool value) const { return value ? 1 : 0; }

  double operator()(std::int64_t value) const { return static_cast<double>(value); }

  double operator()(double value) const { return value; }

  double operator()(const std::string&) const { return std::numeric_limits<double>::quiet_NaN(); }
};

struct AsText {
  std::string operator()(std::monostate) const { return ""; }

  std::string operator()(bool value) const { return value ? "True" : "False"; }

  std::string operator()(std::int64_t value) const { return std::to_string(value); }

  std::string operator()(double value) const {
    return std::isnan(value) ? "" : core::shortest(value);
  }

  std::string operator()(const std::string& value) const { return value; }
};

}  // namespace

void Table::add_row(std::vector<Cell> row) {
  ASSAY_CHECK(row.size() == columns.size(), "a row must fill every column");
  std::move(row.begin(), row.end(), std::back_inserter(cells));
}

std::optional<std::size_t> Table::column(std::string_view column_name) const {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const Column& c) { return c.name == column_name; });
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

std::span<const Cell> RowReader::row(std::size_t position) {
  const std::size_t width = table_->columns.size();
  if (table_->source == nullptr) return std::span(table_->cells).subspan(position * width, width);
  made_.clear();
  table_->source->append_row(position, made_);
  ASSAY_CHECK(made_.size() == width, "a row must fill every column");
  return made_;
}

const Table* Book::find(std::string_view table_name) const {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const Table& t) { return t.name == table_name; });
  return found == tables.end() ? nullptr : &*found;
}

void make_rows(Book& book) {
  for (Table& table : book.tables) {
    const std::shared_ptr<const RowSource> source = std::exchange(table.source, nullptr);
    if (source == nullptr) continue;
    table.cells.reserve(source->row_count() * table.columns.size());
    for (std::size_t row = 0; row < source->row_count(); ++row)
      source->append_row(row, table.cells);
  }
}

double number(const Cell& cell) {
  return std::visit(AsNumber{}, cell);
}

Cell cell_of(double value) {
  Cell cell;
  if (!std::isnan(value)) cell.emplace<double>(value);
  return cell;
}

std::string text(const Cell& cell) {
  return std::visit(AsText{}, cell);
}

}  // namespace assay::model
