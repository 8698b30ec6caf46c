#include "store/files/frame.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.h"

namespace assay::store {
namespace {

using Wholes = std::vector<std::int64_t>;
using Reals = std::vector<double>;

// Values of no rows in the widest type that a frame has for the column.
FrameColumn::Values widest_values(const std::vector<Frame>& frames, const std::string& name) {
  FrameColumn::Values widest;
  for (const Frame& frame : frames) {
    const FrameColumn* column = frame.find(name);
    if (column == nullptr || column->values.index() <= widest.index()) continue;
    if (std::holds_alternative<Reals>(column->values)) widest = Reals();
    if (std::holds_alternative<TextColumn>(column->values)) widest = TextColumn();
  }
  return widest;
}

void append_rows(const Frame& frame, const std::string& name, ColumnBuilder& builder) {
  const FrameColumn* column = frame.find(name);
  for (std::size_t row = 0; row < frame.num_rows(); ++row) {
    if (column == nullptr || column->is_missing(row)) {
      builder.add_missing();
      continue;
    }
    const model::PerfValue value = column->value(row);
    if (builder.is_text()) {
      builder.add(std::string_view(value_text(value)));
    } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      builder.add(*whole);
    } else {
      builder.add(std::get<double>(value));
    }
  }
}

bool same_value(const FrameColumn& a, const FrameColumn& b, std::size_t row) {
  if (a.is_missing(row) || b.is_missing(row)) return a.is_missing(row) == b.is_missing(row);
  const auto is_nan = [](const model::PerfValue& value) {
    return std::holds_alternative<double>(value) && std::isnan(std::get<double>(value));
  };
  const model::PerfValue left = a.value(row);
  const model::PerfValue right = b.value(row);
  return left == right || (is_nan(left) && is_nan(right));
}

template <typename Value>
std::vector<Value> picked(const std::vector<Value>& values, const std::vector<std::size_t>& rows) {
  std::vector<Value> result;
  result.reserve(rows.size());
  for (const std::size_t row : rows)
    result.push_back(values[row]);
  return result;
}

FrameColumn::Values picked(const TextColumn& column, const std::vector<std::size_t>& rows) {
  return TextColumn{.codes = picked(column.codes, rows), .words = column.words};
}

}  // namespace

std::vector<std::string> words_of(const model::StringPool& pool) {
  std::vector<std::string> words;
  words.reserve(pool.size());
  for (model::TextId id = 0; id < pool.size(); ++id)
    words.emplace_back(pool.view(id));
  return words;
}

std::size_t FrameColumn::size() const {
  if (const auto* text = std::get_if<TextColumn>(&values)) return text->codes.size();
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&values)) return whole->size();
  return std::get<std::vector<double>>(values).size();
}

model::PerfValue FrameColumn::value(std::size_t row) const {
  if (const auto* text = std::get_if<TextColumn>(&values)) return text->words[text->codes[row]];
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&values)) return (*whole)[row];
  return std::get<std::vector<double>>(values)[row];
}

const FrameColumn* Frame::find(std::string_view name) const {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const FrameColumn& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

bool same_values(const Frame& a, const Frame& b) {
  if (a.columns.size() != b.columns.size() || a.num_rows() != b.num_rows()) return false;
  for (std::size_t i = 0; i < a.columns.size(); ++i) {
    if (a.columns[i].name != b.columns[i].name || a.columns[i].size() != b.columns[i].size()) {
      return false;
    }
    for (std::size_t row = 0; row < a.columns[i].size(); ++row) {
      if (!same_value(a.columns[i], b.columns[i], row)) return false;
    }
  }
  return true;
}

std::string as_text(const model::PerfValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  return core::shortest(std::get<double>(value));
}

double number_at(const FrameColumn& column, std::size_t row) {
  if (column.is_missing(row)) return std::numeric_limits<double>::quiet_NaN();
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&column.values))
    return static_cast<double>((*whole)[row]);
  if (const auto* real = std::get_if<std::vector<double>>(&column.values)) return (*real)[row];
  return std::numeric_limits<double>::quiet_NaN();
}

std::string value_text(const model::PerfValue& value) {
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr) return as_text(value);
  return std::isnan(*real) ? std::string() : fmt::format("{}", *real);
}

// Notes the next row, before its value is added.
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
    add_word(before.is_missing(row) ? std::string() : as_text(before.value(row)));
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
  ColumnBuilder builder(column.name, TextColumn());
  for (std::size_t row = 0; row < column.size(); ++row)
    builder.add(std::string_view(column.is_missing(row) ? "" : as_text(column.value(row))));
  return std::get<TextColumn>(std::move(builder).finish().values);
}

Frame joined_frames(const std::vector<Frame>& frames) {
  std::vector<std::string> names;
  for (const Frame& frame : frames) {
    for (const FrameColumn& column : frame.columns) {
      if (std::find(names.begin(), names.end(), column.name) == names.end())
        names.push_back(column.name);
    }
  }
  Frame joined;
  for (const std::string& name : names) {
    ColumnBuilder builder(name, widest_values(frames, name));
    for (const Frame& frame : frames)
      append_rows(frame, name, builder);
    joined.columns.push_back(std::move(builder).finish());
  }
  return joined;
}

Frame picked_rows(const Frame& frame, const std::vector<std::size_t>& rows) {
  Frame result;
  for (const FrameColumn& column : frame.columns) {
    result.columns.push_back(
        {.name = column.name,
         .values = std::visit([&](const auto& v) { return FrameColumn::Values(picked(v, rows)); },
                              column.values),
         .missing = column.missing.empty() ? std::vector<bool>() : picked(column.missing, rows)});
  }
  return result;
}

}  // namespace assay::store
