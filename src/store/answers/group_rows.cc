// Cuts the rows of a table into groups with equal exact values.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/statistics.h"
#include "core/text.h"
#include "store/answers/table_index.h"
#include "store/answers/work.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

// kExact: a query's value must be one that was measured ("head_dim"); kSize: a query's value may
// lie between measured ones ("m"); kMeasured: a result ("power"), which is no part of the key.
enum class Role : std::uint8_t { kExact, kSize, kMeasured };

constexpr std::array<std::string_view, 16> kSizes = {
    "m",     "n",       "k",         "batch_size", "isl",
    "step",  "seq_len", "num_heads", "num_tokens", "num_token",
    "rows",  "columns", "elements",  "s",          "message_size",
    "bytes",
};

// The results besides those whose names end in a unit.
constexpr std::array<std::string_view, 18> kResults = {
    "latency",
    "power",
    "power_limit",
    "median",
    "mean",
    "p10",
    "p90",
    "n_samples",
    "samples",
    "low",
    "high",
    "throttled",
    "drifting",
    "l2",
    "launch",
    "slowdowns",
    "certainty_reached",
    "certainty_asked",
};

constexpr std::array<std::string_view, 9> kResultUnits = {
    "_ms", "_us", "_gbps", "_mhz", "_celsius", "_joules", "_watts", "_per_sample", "_at",
};

template <class List>
bool holds(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// The role of a column of numbers in any table; texts are exact whatever their name.
Role role_of(std::string_view column) {
  if (holds(kResults, column)) return Role::kMeasured;
  const bool has_unit = std::any_of(kResultUnits.begin(), kResultUnits.end(),
                                    [&](std::string_view unit) { return column.ends_with(unit); });
  if (has_unit) return Role::kMeasured;
  return holds(kSizes, column) ? Role::kSize : Role::kExact;
}

using Codes = std::vector<std::uint32_t>;

std::vector<double> sizes_of(const GroupedRows& grouped, std::uint32_t row) {
  const std::size_t count = grouped.sizes.size();
  const auto first = grouped.size_values.begin() + static_cast<std::ptrdiff_t>(row * count);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

bool share_a_place(const GroupedRows& grouped, const std::vector<std::size_t>& groups) {
  std::set<std::vector<double>> places;
  for (const std::size_t group : groups) {
    std::set<std::vector<double>> own;
    for (const std::uint32_t row : grouped.rows_of_group[group])
      own.insert(sizes_of(grouped, row));
    for (const auto& place : own) {
      if (!places.insert(place).second) return true;
    }
  }
  return false;
}

// The code of "A or B" in the column of kernels, where it is added if it is new.
std::uint32_t joint_code(ExactColumn& kernels,
                         const GroupedRows& grouped,
                         const std::vector<std::size_t>& groups,
                         std::size_t column) {
  std::vector<std::string> names;
  for (const std::size_t group : groups)
    names.push_back(kernels.values[grouped.exact_of_group[group][column]]);
  std::sort(names.begin(), names.end());
  const std::string name = core::join(names, " or ");
  const auto found = std::find(kernels.values.begin(), kernels.values.end(), name);
  if (found == kernels.values.end()) {
    kernels.values.push_back(name);
    return static_cast<std::uint32_t>(kernels.values.size() - 1);
  }
  return static_cast<std::uint32_t>(found - kernels.values.begin());
}

void remove_emptied(GroupedRows& grouped) {
  std::size_t kept = 0;
  for (std::size_t group = 0; group < grouped.rows_of_group.size(); ++group) {
    if (grouped.rows_of_group[group].empty()) continue;
    if (kept != group) {
      grouped.rows_of_group[kept] = std::move(grouped.rows_of_group[group]);
      grouped.exact_of_group[kept] = std::move(grouped.exact_of_group[group]);
    }
    ++kept;
  }
  grouped.rows_of_group.resize(kept);
  grouped.exact_of_group.resize(kept);
}

// Removes the values of a column that no group has.
void remove_unused_values(GroupedRows& grouped, std::size_t column) {
  std::set<std::uint32_t> used;
  for (const Codes& codes : grouped.exact_of_group)
    used.insert(codes[column]);
  std::map<std::uint32_t, std::uint32_t> number_of;
  std::vector<std::string> values;
  for (const std::uint32_t code : used) {
    number_of[code] = static_cast<std::uint32_t>(values.size());
    values.push_back(grouped.exact[column].values[code]);
  }
  grouped.exact[column].values = std::move(values);
  for (Codes& codes : grouped.exact_of_group)
    codes[column] = number_of[codes[column]];
}

// Joins the rows of several kernels into one group, whose kernel_source is "A or B", if the
// framework uses one kernel for some sizes and another for others, so that no place was measured
// with both. Kernels that share a place (parts of an operator, graph and eager) stay apart.
void merge_kernels(GroupedRows& grouped) {
  const auto kernels =
      std::find_if(grouped.exact.begin(), grouped.exact.end(),
                   [](const ExactColumn& column) { return column.name == "kernel_source"; });
  if (kernels == grouped.exact.end() || kernels->values.size() < 2) return;
  const auto column = static_cast<std::size_t>(kernels - grouped.exact.begin());
  std::map<Codes, std::vector<std::size_t>> alike;
  for (std::size_t group = 0; group < grouped.exact_of_group.size(); ++group) {
    Codes others = grouped.exact_of_group[group];
    others[column] = 0;
    alike[others].push_back(group);
  }
  for (const auto& [others, groups] : alike) {
    if (groups.size() < 2 || share_a_place(grouped, groups)) continue;
    const std::uint32_t code = joint_code(*kernels, grouped, groups, column);
    auto& rows = grouped.rows_of_group[groups.front()];
    for (std::size_t i = 1; i < groups.size(); ++i) {
      auto& more = grouped.rows_of_group[groups[i]];
      rows.insert(rows.end(), more.begin(), more.end());
      more.clear();
    }
    std::sort(rows.begin(), rows.end());
    grouped.exact_of_group[groups.front()][column] = code;
  }
  remove_emptied(grouped);
  remove_unused_values(grouped, column);
}

bool is_text(const FrameColumn& column) {
  return std::holds_alternative<TextColumn>(column.values);
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

// Orders numbers by their value, and texts after them.
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

// Sorts the words, which come in any order, and renumbers the codes.
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

// Numbers that are equal to those of `heads` (num_heads, or null) become kAsHeads.
Coded coded_numbers(const FrameColumn& column, const FrameColumn* heads) {
  std::vector<std::string> words;
  std::vector<std::uint32_t> codes(column.size());
  std::map<std::pair<bool, double>, std::uint32_t> known;
  for (std::size_t row = 0; row < codes.size(); ++row) {
    const double number = number_at(column, row);
    const bool as_heads = heads != nullptr && number == number_at(*heads, row);
    const std::pair key{as_heads, as_heads || std::isnan(number) ? -1 : number};
    const auto [at, is_new] = known.emplace(key, static_cast<std::uint32_t>(words.size()));
    if (is_new) words.push_back(as_heads ? kAsHeads : value_text(number));
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

// Returns whether the numbers are a size: one that grids have if it has several values, and one
// that makes the table's work in any case.
bool is_size(const std::string& column, const std::vector<double>& numbers, const Work* work) {
  if (work != nullptr && work->has(column)) return true;
  if (work != nullptr && column == "num_key_value_heads") return has_several(numbers);
  return role_of(column) == Role::kSize && has_several(numbers);
}

core::Result<Columns> sort_columns(const std::string& table,
                                   const Frame& frame,
                                   const Work* work,
                                   GroupedRows& grouped) {
  Columns columns;
  const FrameColumn* heads = frame.find("num_heads");
  for (const FrameColumn& column : frame.columns) {
    if (role_of(column.name) == Role::kMeasured) continue;
    if (work != nullptr && work->is_label(column.name)) continue;
    if (is_text(column)) {
      columns.exact.push_back(coded_texts(column));
      continue;
    }
    std::vector<double> numbers = numbers_of(column);
    if (is_size(column.name, numbers, work)) {
      grouped.sizes.push_back(column.name);
      columns.sizes.push_back(std::move(numbers));
    } else {
      const bool follows = work == nullptr && column.name == "num_key_value_heads";
      columns.exact.push_back(coded_numbers(column, follows ? heads : nullptr));
    }
  }
  const std::size_t most = work == nullptr ? kMostAxes : kMostWorkAxes;
  if (grouped.sizes.size() > most) {
    return core::Error{fmt::format("{}: {} columns are sizes; at most {} can be interpolated",
                                   table, grouped.sizes.size(), most)};
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

// The power of a GPU as rows of "power" tell it; a table without a counter has zeros.
std::vector<double> watts_of(const FrameColumn* power) {
  if (power == nullptr || is_text(*power)) return {};
  std::vector<double> watts = numbers_of(*power);
  bool any = false;
  for (double& one : watts) {
    if (one > 0 && std::isfinite(one)) {
      any = true;
    } else {
      one = std::numeric_limits<double>::quiet_NaN();
    }
  }
  if (!any) watts.clear();
  return watts;
}

// The intervals as Store::Columns::kWithInterval gives them.
std::vector<std::optional<MedianInterval>> intervals_of(const Frame& frame) {
  const FrameColumn* low = frame.find("interval_low_ms");
  const FrameColumn* high = frame.find("interval_high_ms");
  const FrameColumn* samples = frame.find("samples");
  if (low == nullptr || high == nullptr || samples == nullptr) return {};
  std::vector<std::optional<MedianInterval>> intervals(frame.num_rows());
  for (std::size_t row = 0; row < intervals.size(); ++row) {
    const double count = number_at(*samples, row);
    const MedianInterval interval{.low = number_at(*low, row),
                                  .high = number_at(*high, row),
                                  .samples = count >= 1 ? static_cast<std::uint64_t>(count) : 0};
    if (!(count >= 1) || !std::isfinite(interval.low) || !std::isfinite(interval.high)) continue;
    intervals[row] = interval;
  }
  return intervals;
}

std::vector<std::uint8_t> throttled_of(const FrameColumn* column) {
  if (column == nullptr || is_text(*column)) return {};
  std::vector<std::uint8_t> throttled(column->size());
  for (std::size_t row = 0; row < throttled.size(); ++row)
    throttled[row] = number_at(*column, row) > 0 ? 1 : 0;
  return throttled;
}

}  // namespace

double MedianInterval::confidence() const {
  return core::median_confidence(samples, core::kMedianTail);
}

core::Result<GroupedRows> group_rows(const std::string& table,
                                     const Frame& frame,
                                     const Work* work) {
  const FrameColumn* latency = frame.find("latency");
  if (latency == nullptr || is_text(*latency)) {
    return core::Error{table +
                       ": no column 'latency' with numbers, so this is no performance "
                       "table that can be queried"};
  }
  if (frame.num_rows() == 0) return core::Error{table + ": no rows"};
  GroupedRows grouped;
  grouped.latencies = numbers_of(*latency);
  Columns columns = ASSAY_TRY(sort_columns(table, frame, work, grouped));
  const std::size_t count = columns.sizes.size();
  grouped.size_values.resize(frame.num_rows() * count);
  for (std::size_t row = 0; row < frame.num_rows(); ++row) {
    for (std::size_t i = 0; i < count; ++i)
      grouped.size_values[row * count + i] = columns.sizes[i][row];
  }
  grouped.intervals = intervals_of(frame);
  grouped.watts = watts_of(frame.find(kPowerColumns.front()));
  grouped.throttled = throttled_of(frame.find("throttled"));
  fill_groups(columns, grouped);
  for (Coded& coded : columns.exact)
    grouped.exact.push_back(std::move(coded.column));
  merge_kernels(grouped);
  return grouped;
}

model::PerfValue value_of_text(const std::string& text) {
  std::int64_t whole = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), whole);
  const bool is_whole = end.ec == std::errc() && end.ptr == text.data() + text.size();
  return is_whole ? model::PerfValue(whole) : model::PerfValue(text);
}

std::vector<model::PerfField> group_key(const GroupedRows& rows, std::size_t group) {
  std::vector<model::PerfField> key;
  for (std::size_t i = 0; i < rows.exact.size(); ++i) {
    const std::string& text = rows.exact[i].values[rows.exact_of_group[group][i]];
    key.push_back({.column = rows.exact[i].name, .value = value_of_text(text)});
  }
  for (const std::string& size : rows.sizes)
    key.push_back({.column = size, .value = std::int64_t{0}});
  return key;
}

}  // namespace assay::store
