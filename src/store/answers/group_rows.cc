#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>

#include "core/text.h"
#include "store/answers/merge_kernels.h"
#include "store/answers/table_index.h"

namespace assay::store {
namespace {

bool is_text(const FrameColumn& column) {
  return std::holds_alternative<TextColumn>(column.values);
}

double number_at(const FrameColumn& column, std::size_t row) {
  if (column.is_missing(row)) return std::numeric_limits<double>::quiet_NaN();
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&column.values))
    return static_cast<double>((*whole)[row]);
  if (const auto* real = std::get_if<std::vector<double>>(&column.values)) return (*real)[row];
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> numbers_of(const FrameColumn& column) {
  std::vector<double> numbers(column.size());
  for (std::size_t row = 0; row < numbers.size(); ++row)
    numbers[row] = number_at(column, row);
  return numbers;
}

bool has_several(const std::vector<double>& numbers) {
  return std::any_of(numbers.begin(), numbers.end(),
                     [&](double number) { return number != numbers.front(); });
}

// Numbers by their value, then texts.
bool comes_before(const std::string& a, const std::string& b) {
  double left = 0;
  double right = 0;
  const auto left_end = std::from_chars(a.data(), a.data() + a.size(), left);
  const auto right_end = std::from_chars(b.data(), b.data() + b.size(), right);
  const bool left_is = left_end.ec == std::errc() && left_end.ptr == a.data() + a.size();
  const bool right_is = right_end.ec == std::errc() && right_end.ptr == b.data() + b.size();
  if (left_is && right_is) return left < right;
  return left_is == right_is ? a < b : left_is;
}

struct Coded {
  ExactColumn column;
  std::vector<std::uint32_t> codes;  // by row
};

// Renumbers words given in any order by their order.
Coded sorted(std::string name, std::vector<std::string> words, std::vector<std::uint32_t> codes) {
  std::vector<std::uint32_t> order(words.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return comes_before(words[a], words[b]); });
  std::vector<std::uint32_t> number_of(words.size());
  Coded result;
  result.column.name = std::move(name);
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    number_of[order[i]] = i;
    result.column.values.push_back(words[order[i]]);
  }
  for (std::uint32_t& code : codes)
    code = number_of[code];
  result.codes = std::move(codes);
  return result;
}

Coded coded_texts(const FrameColumn& column) {
  const auto& text = std::get<TextColumn>(column.values);
  std::vector<std::string> words;
  std::vector<std::uint32_t> codes(column.size());
  std::unordered_map<std::string, std::uint32_t> known;
  for (std::size_t row = 0; row < codes.size(); ++row) {
    const std::string& word = column.is_missing(row) ? std::string() : text.words[text.codes[row]];
    const auto [at, is_new] = known.emplace(word, static_cast<std::uint32_t>(words.size()));
    if (is_new) words.push_back(word);
    codes[row] = at->second;
  }
  return sorted(column.name, std::move(words), std::move(codes));
}

std::string number_text(double number) {
  return std::isnan(number) ? std::string() : fmt::format("{}", number);
}

// `heads`: null, or the numbers of num_heads, for which kAsHeads stands.
Coded coded_numbers(const FrameColumn& column, const FrameColumn* heads) {
  std::vector<std::string> words;
  std::vector<std::uint32_t> codes(column.size());
  std::map<std::pair<bool, double>, std::uint32_t> known;
  for (std::size_t row = 0; row < codes.size(); ++row) {
    const double number = number_at(column, row);
    const bool as_heads = heads != nullptr && number == number_at(*heads, row);
    const std::pair key{as_heads, as_heads || std::isnan(number) ? -1 : number};
    const auto [at, is_new] = known.emplace(key, static_cast<std::uint32_t>(words.size()));
    if (is_new) words.push_back(as_heads ? kAsHeads : number_text(number));
    codes[row] = at->second;
  }
  Coded coded = sorted(column.name, std::move(words), std::move(codes));
  coded.column.kind = ValueKind::kNumber;
  return coded;
}

struct HashCodes {
  std::size_t operator()(const std::vector<std::uint32_t>& codes) const {
    std::size_t hash = 0;
    for (const std::uint32_t code : codes)
      hash = hash * 1000003 + code;
    return hash;
  }
};

struct Columns {
  std::vector<Coded> exact;
  std::vector<std::vector<double>> sizes;
};

core::Result<Columns> sort_columns(const std::string& table,
                                   const Frame& frame,
                                   GroupedRows& grouped) {
  Columns columns;
  const FrameColumn* heads = frame.find("num_heads");
  for (const FrameColumn& column : frame.columns) {
    const Role role = role_of(column.name);
    if (role == Role::kMeasured) continue;
    if (is_text(column)) {
      columns.exact.push_back(coded_texts(column));
      continue;
    }
    std::vector<double> numbers = numbers_of(column);
    if (role == Role::kSize && has_several(numbers)) {
      grouped.sizes.push_back(column.name);
      columns.sizes.push_back(std::move(numbers));
    } else {
      const bool follows = column.name == "num_key_value_heads";
      columns.exact.push_back(coded_numbers(column, follows ? heads : nullptr));
    }
  }
  if (grouped.sizes.size() > kMostAxes) {
    return core::Error{fmt::format("{}: {} columns are sizes; at most {} can be interpolated",
                                   table, grouped.sizes.size(), kMostAxes)};
  }
  return columns;
}

bool is_usable(const GroupedRows& grouped, std::size_t row) {
  const std::size_t count = grouped.sizes.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(grouped.size_values[row * count + i])) return false;
  }
  return std::isfinite(grouped.latencies[row]);
}

void fill_groups(const Columns& columns, GroupedRows& grouped) {
  std::unordered_map<std::vector<std::uint32_t>, std::uint32_t, HashCodes> known;
  std::vector<std::uint32_t> codes(columns.exact.size());
  for (std::size_t row = 0; row < grouped.latencies.size(); ++row) {
    if (!is_usable(grouped, row)) {
      if (grouped.unused.count++ == 0) grouped.unused.first_row = row;
      continue;
    }
    for (std::size_t i = 0; i < codes.size(); ++i)
      codes[i] = columns.exact[i].codes[row];
    const auto [at, is_new] =
        known.emplace(codes, static_cast<std::uint32_t>(grouped.rows_of_group.size()));
    if (is_new) {
      grouped.rows_of_group.emplace_back();
      grouped.exact_of_group.push_back(codes);
    }
    grouped.rows_of_group[at->second].push_back(static_cast<std::uint32_t>(row));
  }
}

}  // namespace

std::string value_text(const model::PerfValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  return number_text(std::get<double>(value));
}

core::Result<GroupedRows> group_rows(const std::string& table, const Frame& frame) {
  const FrameColumn* latency = frame.find("latency");
  if (latency == nullptr || is_text(*latency)) {
    return core::Error{table +
                       ": no column 'latency' with numbers, so this is no performance "
                       "table that can be queried"};
  }
  if (frame.num_rows() == 0) return core::Error{table + ": no rows"};
  GroupedRows grouped;
  grouped.latencies = numbers_of(*latency);
  Columns columns = ASSAY_TRY(sort_columns(table, frame, grouped));
  const std::size_t count = columns.sizes.size();
  grouped.size_values.resize(frame.num_rows() * count);
  for (std::size_t row = 0; row < frame.num_rows(); ++row) {
    for (std::size_t i = 0; i < count; ++i)
      grouped.size_values[row * count + i] = columns.sizes[i][row];
  }
  fill_groups(columns, grouped);
  for (Coded& coded : columns.exact)
    grouped.exact.push_back(std::move(coded.column));
  merge_kernels(grouped);
  return grouped;
}

std::vector<model::PerfField> group_key(const GroupedRows& rows, std::size_t group) {
  std::vector<model::PerfField> key;
  for (std::size_t i = 0; i < rows.exact.size(); ++i) {
    const std::string& text = rows.exact[i].values[rows.exact_of_group[group][i]];
    std::int64_t whole = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), whole);
    const bool is_whole = end.ec == std::errc() && end.ptr == text.data() + text.size();
    key.push_back({.column = rows.exact[i].name,
                   .value = is_whole ? model::PerfValue(whole) : model::PerfValue(text)});
  }
  for (const std::string& size : rows.sizes)
    key.push_back({.column = size, .value = std::int64_t{0}});
  return key;
}

}  // namespace assay::store
