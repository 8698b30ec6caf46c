#include "store/database/store_key.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/text.h"

namespace assay::store {
namespace {

constexpr std::uint64_t kOffsetBasis = 14695981039346656037ULL;
constexpr std::uint64_t kPrime = 1099511628211ULL;

std::string json_text(std::string_view text) {
  return '"' + core::json_escaped(core::valid_utf8(text)) + '"';
}

}  // namespace

bool is_value_column(std::string_view column) {
  return std::find(kValueColumns.begin(), kValueColumns.end(), column) != kValueColumns.end();
}

std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = kOffsetBasis;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= kPrime;
  }
  return hash;
}

std::string json_value(const model::PerfValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return json_text(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  const double real = std::get<double>(value);
  return std::isfinite(real) ? core::shortest(real) : "null";
}

std::string key_json(const std::vector<model::PerfField>& key) {
  std::string json = "[";
  for (const model::PerfField& field : key)
    json += (json.size() == 1 ? "" : ",") + json_value(field.value);
  return json + ']';
}

std::string columns_json(const std::vector<std::string>& columns) {
  std::string json = "[";
  for (const std::string& column : columns)
    json += (json.size() == 1 ? "" : ",") + json_text(column);
  return json + ']';
}

std::vector<std::string> parse_columns(std::string_view json) {
  std::vector<std::string> columns;
  const auto list = nlohmann::json::parse(json, nullptr, false);
  if (!list.is_array()) return columns;
  for (const auto& name : list) {
    if (name.is_string()) columns.push_back(name.get<std::string>());
  }
  return columns;
}

KeyWriter::KeyWriter(std::vector<const FrameColumn*> columns) : columns_(std::move(columns)) {
  words_.resize(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const auto* text = std::get_if<TextColumn>(&columns_[i]->values);
    if (text == nullptr) continue;
    for (const std::string& word : text->words)
      words_[i].push_back(json_text(word));
  }
}

std::string_view KeyWriter::write(std::size_t row) {
  json_ = "[";
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) json_ += ',';
    append(i, row);
  }
  json_ += ']';
  return json_;
}

std::string_view KeyWriter::write_named(std::size_t row) {
  json_ = "{";
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i]->is_missing(row)) continue;
    json_ += json_.size() == 1 ? "\"" : ",\"";
    json_ += columns_[i]->name;
    json_ += "\":";
    append(i, row);
  }
  json_ += '}';
  return json_;
}

void KeyWriter::append(std::size_t column, std::size_t row) {
  const FrameColumn& from = *columns_[column];
  if (from.is_missing(row)) {
    json_ += "null";
  } else if (const auto* text = std::get_if<TextColumn>(&from.values)) {
    json_ += words_[column][text->codes[row]];
  } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&from.values)) {
    char digits[24];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), (*whole)[row]);
    json_.append(std::begin(digits), end.ptr);
  } else {
    json_ += json_value(from.value(row));
  }
}

}  // namespace assay::store
