#include "store/database/store_frame.h"

#include <cmath>

#include "core/text.h"

namespace assay::store {
namespace {

using Wholes = std::vector<std::int64_t>;
using Reals = std::vector<double>;

std::string text_of(const model::PerfValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  return core::shortest(std::get<double>(value));
}

}  // namespace

void ColumnBuilder::mark(bool missing) {
  if (missing && column_.missing.empty()) column_.missing.assign(rows_, false);
  if (!column_.missing.empty() || missing) column_.missing.push_back(missing);
  ++rows_;
  present_ += missing ? 0 : 1;
}

void ColumnBuilder::add(std::int64_t value) {
  if (auto* wholes = std::get_if<Wholes>(&column_.values)) {
    wholes->push_back(value);
  } else if (auto* reals = std::get_if<Reals>(&column_.values)) {
    reals->push_back(static_cast<double>(value));
  } else {
    add_word(std::to_string(value));
  }
  mark(false);
}

void ColumnBuilder::add(double value) {
  if (std::isnan(value)) return add_missing();
  become_real();
  if (auto* reals = std::get_if<Reals>(&column_.values)) {
    reals->push_back(value);
  } else {
    add_word(core::shortest(value));
  }
  mark(false);
}

void ColumnBuilder::add(std::string_view value) {
  become_text();
  add_word(value);
  mark(false);
}

void ColumnBuilder::add_missing() {
  if (auto* wholes = std::get_if<Wholes>(&column_.values)) {
    wholes->push_back(0);
  } else if (auto* reals = std::get_if<Reals>(&column_.values)) {
    reals->push_back(0);
  } else {
    add_word("");
  }
  mark(true);
}

void ColumnBuilder::become_real() {
  const auto* wholes = std::get_if<Wholes>(&column_.values);
  if (wholes == nullptr) return;
  column_.values = Reals(wholes->begin(), wholes->end());
}

void ColumnBuilder::become_text() {
  if (std::holds_alternative<TextColumn>(column_.values)) return;
  const FrameColumn before = std::move(column_);
  column_ = {.name = before.name, .values = TextColumn{}, .missing = before.missing};
  for (std::size_t row = 0; row < rows_; ++row)
    add_word(before.is_missing(row) ? std::string() : text_of(before.value(row)));
}

void ColumnBuilder::add_word(std::string_view word) {
  auto& text = std::get<TextColumn>(column_.values);
  const auto [entry, fresh] =
      codes_.try_emplace(std::string(word), static_cast<std::uint32_t>(text.words.size()));
  if (fresh) text.words.emplace_back(word);
  text.codes.push_back(entry->second);
}

FrameColumn ColumnBuilder::finish() && {
  return std::move(column_);
}

TextColumn as_text(const FrameColumn& column) {
  if (const auto* text = std::get_if<TextColumn>(&column.values); text && column.missing.empty()) {
    return *text;
  }
  ColumnBuilder builder(column.name);
  for (std::size_t row = 0; row < column.size(); ++row)
    builder.add(std::string_view(column.is_missing(row) ? "" : text_of(column.value(row))));
  const FrameColumn text = std::move(builder).finish();
  // An empty column never became text.
  return column.size() == 0 ? TextColumn{} : std::get<TextColumn>(text.values);
}

}  // namespace assay::store
