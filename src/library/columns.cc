#include "library/columns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

namespace assay::library {
namespace {

enum class Kind : std::uint8_t { kEmpty, kBool, kInteger, kNumber, kText };

Kind kind_of(const model::Cell& cell) {
  if (std::holds_alternative<bool>(cell)) return Kind::kBool;
  if (std::holds_alternative<std::int64_t>(cell)) return Kind::kInteger;
  if (const auto* number = std::get_if<double>(&cell))
    return std::isnan(*number) ? Kind::kEmpty : Kind::kNumber;
  return std::holds_alternative<std::string>(cell) ? Kind::kText : Kind::kEmpty;
}

// The kind that holds both. Numbers hold integers; nothing but text holds booleans and others.
Kind wider(Kind a, Kind b) {
  if (a == Kind::kEmpty || a == b) return b;
  if (b == Kind::kEmpty) return a;
  const bool numbers = std::min(a, b) == Kind::kInteger && std::max(a, b) == Kind::kNumber;
  return numbers ? Kind::kNumber : Kind::kText;
}

Values room_for(Kind kind, std::size_t rows) {
  switch (kind) {
    case Kind::kEmpty:
      return {};
    case Kind::kBool:
      return Bits();
    case Kind::kInteger: {
      std::vector<std::int64_t> integers;
      integers.reserve(rows);
      return integers;
    }
    case Kind::kNumber: {
      std::vector<double> numbers;
      numbers.reserve(rows);
      return numbers;
    }
    case Kind::kText:
      return Texts();
  }
  return {};
}

// Takes the cells of one column, row by row.
class ColumnMaker {
 public:
  ColumnMaker(model::Column about, Kind kind, std::size_t rows)
      : column_{.about = std::move(about), .values = room_for(kind, rows)} {}

  void add(const model::Cell& cell) {
    const bool is_empty = kind_of(cell) == Kind::kEmpty;
    column_.present.add(!is_empty);
    if (auto* bits = std::get_if<Bits>(&column_.values)) {
      bits->add(!is_empty && std::get<bool>(cell));
    } else if (auto* integers = std::get_if<std::vector<std::int64_t>>(&column_.values)) {
      integers->push_back(is_empty ? 0 : std::get<std::int64_t>(cell));
    } else if (auto* numbers = std::get_if<std::vector<double>>(&column_.values)) {
      numbers->push_back(is_empty ? std::numeric_limits<double>::quiet_NaN() : model::number(cell));
    } else if (std::holds_alternative<Texts>(column_.values)) {
      add_text(cell, is_empty);
    }
  }

  Column finish() && {
    if (std::holds_alternative<Texts>(column_.values)) column_.values = std::move(texts_).finish();
    return std::move(column_);
  }

 private:
  void add_text(const model::Cell& cell, bool is_empty) {
    if (is_empty) return texts_.add_empty();
    if (const auto* text = std::get_if<std::string>(&cell)) return texts_.add(*text);
    texts_.add(model::text(cell));
  }

  Column column_;
  TextsMaker texts_;
};

std::vector<Kind> kinds_of(const model::Table& table) {
  std::vector<Kind> kinds(table.columns.size(), Kind::kEmpty);
  model::RowReader reader(table);
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const auto cells = reader.row(row);
    for (std::size_t i = 0; i < kinds.size(); ++i)
      kinds[i] = wider(kinds[i], kind_of(cells[i]));
  }
  return kinds;
}

}  // namespace

void Bits::add(bool bit) {
  const auto place = static_cast<unsigned>(size_++ % 8);
  if (place == 0) bytes_.push_back(0);
  bytes_.back() = static_cast<std::uint8_t>(bytes_.back() | (unsigned{bit} << place));
  zeros_ += bit ? 0 : 1;
}

void TextsMaker::add(std::string_view text) {
  if (text != last_ || codes_.empty()) {
    auto known = codes_.find(text);
    if (known == codes_.end()) known = add_new(text);
    last_ = known->first;
    last_code_ = known->second;
  }
  texts_.codes.push_back(last_code_);
}

TextsMaker::Codes::iterator TextsMaker::add_new(std::string_view text) {
  constexpr std::size_t kMostBytes = std::numeric_limits<std::int32_t>::max();
  if (text.size() > kMostBytes - texts_.bytes.size()) throw std::bad_alloc();
  texts_.bytes += text;
  texts_.ends.push_back(static_cast<std::int32_t>(texts_.bytes.size()));
  return codes_.emplace(text, static_cast<std::int32_t>(codes_.size())).first;
}

Texts TextsMaker::finish() && {
  return std::move(texts_);
}

std::shared_ptr<const Columns> columns_of(const model::Table& table) {
  const std::size_t rows = table.row_count();
  const std::vector<Kind> kinds = kinds_of(table);
  std::vector<ColumnMaker> makers;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    makers.emplace_back(table.columns[i], kinds[i], rows);
  model::RowReader reader(table);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto cells = reader.row(row);
    for (std::size_t i = 0; i < makers.size(); ++i)
      makers[i].add(cells[i]);
  }
  auto columns = std::make_shared<Columns>(Columns{.name = table.name,
                                                   .title = table.title,
                                                   .notes = table.notes,
                                                   .num_rows = static_cast<std::int64_t>(rows)});
  for (ColumnMaker& maker : makers)
    columns->columns.push_back(std::move(maker).finish());
  return columns;
}

}  // namespace assay::library
