#include "store/answers/query.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "core/text.h"

namespace assay::store {
namespace {

constexpr std::size_t kShownValues = 24;

std::string shown(const std::vector<std::string>& values) {
  if (values.size() <= kShownValues) return core::join(values, ", ");
  const std::vector<std::string> first(values.begin(), values.begin() + kShownValues);
  return fmt::format("{} and {} more", core::join(first, ", "), values.size() - kShownValues);
}

std::vector<std::string> column_names(const TableIndex& index) {
  std::vector<std::string> names = index.size_columns();
  for (const ExactColumn& column : index.exact_columns())
    names.push_back(column.name);
  return names;
}

core::Error no_column(const TableIndex& index, const std::string& name) {
  const std::vector<std::string> names = column_names(index);
  const std::string near = core::nearest(name, names);
  const std::string hint = near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  return core::Error{fmt::format("{} has no column '{}'{} It has {}", index.table(), name,
                                 near.empty() ? "." : hint, core::join(names, ", "))};
}

// "dtype" stands for "gemm_dtype", "attn_dtype" and the like.
std::string resolved(const TableIndex& index, const std::string& name) {
  if (name != "dtype") return name;
  for (const ExactColumn& column : index.exact_columns()) {
    if (column.name == name) return name;
    if (column.name.ends_with("_dtype") && column.name != "kv_cache_dtype") return column.name;
  }
  return name;
}

std::optional<std::size_t> position_of(const std::vector<std::string>& names,
                                       const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

core::Result<double> parse_size(const Condition& condition) {
  double value = 0;
  const std::string& text = condition.value;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end.ec == std::errc() && end.ptr == text.data() + text.size();
  if (whole && std::isfinite(value) && value >= 0) return value;
  return core::Error{
      fmt::format("{} takes a number of at least 0, not '{}'", condition.column, text)};
}

bool equal_ignoring_case(const std::string& a, const std::string& b) {
  return a.size() == b.size() && core::contains_ignoring_case(a, b);
}

class Matcher {
 public:
  explicit Matcher(const TableIndex& index)
      : index_(index), sizes_(index.size_columns().size()), exact_(index.exact_columns().size()) {}

  core::Status take(const Condition& condition) {
    const std::string name = resolved(index_, condition.column);
    if (const auto size = position_of(index_.size_columns(), name)) {
      sizes_[*size] = ASSAY_TRY(parse_size({name, condition.value}));
      return {};
    }
    const auto& columns = index_.exact_columns();
    const auto column = std::find_if(columns.begin(), columns.end(),
                                     [&](const ExactColumn& c) { return c.name == name; });
    if (column == columns.end()) return no_column(index_, condition.column);
    return take_exact(static_cast<std::size_t>(column - columns.begin()), condition.value);
  }

  // If there are as many key-value heads as heads, kAsHeads is one of the values to match.
  void settle_heads() {
    const auto heads = position_of(index_.size_columns(), "num_heads");
    if (!heads || !sizes_[*heads] || !kv_heads_) return;
    const auto& column = index_.exact_columns()[*kv_heads_];
    const auto as_heads = position_of(column.values, kAsHeads);
    const bool same = fmt::format("{}", *sizes_[*heads]) == kv_text_;
    if (as_heads && same) exact_[*kv_heads_] = {static_cast<std::uint32_t>(*as_heads)};
  }

  [[nodiscard]] core::Status check() const {
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (!sizes_[i]) missing.push_back(with_range(i));
    }
    if (!missing.empty()) {
      return core::Error{fmt::format("{} needs {}", index_.table(), core::join(missing, " and "))};
    }
    if (kv_heads_ && exact_[*kv_heads_].empty()) {
      return no_value(index_.exact_columns()[*kv_heads_], kv_text_);
    }
    return {};
  }

  [[nodiscard]] bool matches(const Group& group) const {
    for (std::size_t i = 0; i < exact_.size(); ++i) {
      if (exact_[i].empty()) continue;
      if (std::find(exact_[i].begin(), exact_[i].end(), group.exact[i]) == exact_[i].end())
        return false;
    }
    return true;
  }

  [[nodiscard]] std::vector<double> sizes() const {
    std::vector<double> values;
    for (const auto& size : sizes_)
      values.push_back(*size);
    return values;
  }

 private:
  // "m (1 to 32768)"
  [[nodiscard]] std::string with_range(std::size_t size) const {
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (const Group& group : index_.groups()) {
      const auto& values = group.surface.grid().values(size);
      least = std::min(least, values.front());
      most = std::max(most, values.back());
    }
    return fmt::format("{} ({} to {})", index_.size_columns()[size], least, most);
  }

  [[nodiscard]] core::Error no_value(const ExactColumn& column, const std::string& value) const {
    // A number that does not exist is no misspelling of another.
    const bool is_number = value.find_first_not_of("0123456789.") == std::string::npos;
    const std::string near = is_number ? "" : core::nearest(value, column.values);
    const std::string hint = near.empty() ? "" : fmt::format(" (did you mean {}?)", near);
    return core::Error{fmt::format("{} has no {} '{}'{}; it has {}", index_.table(), column.name,
                                   value, hint, shown(column.values))};
  }

  core::Status take_exact(std::size_t number, const std::string& value) {
    const ExactColumn& column = index_.exact_columns()[number];
    exact_[number].clear();
    for (std::uint32_t i = 0; i < column.values.size(); ++i) {
      if (equal_ignoring_case(column.values[i], value)) exact_[number].push_back(i);
    }
    if (column.name == "num_key_value_heads") {
      kv_heads_ = number;
      kv_text_ = value;
    } else if (exact_[number].empty()) {
      return no_value(column, value);
    }
    return {};
  }

  const TableIndex& index_;
  std::vector<std::optional<double>> sizes_;
  std::vector<std::vector<std::uint32_t>> exact_;  // the allowed values; empty for all
  std::optional<std::size_t> kv_heads_;            // the column, where the query names it
  std::string kv_text_;
};

core::Error no_group(const TableIndex& index, const std::vector<Condition>& conditions) {
  std::vector<std::string> wanted;
  for (const Condition& condition : conditions) {
    const std::string name = resolved(index, condition.column);
    if (!position_of(index.size_columns(), name)) wanted.push_back(name + "=" + condition.value);
  }
  return core::Error{fmt::format("{}: no row has {} together, though each of them exists",
                                 index.table(), core::join(wanted, " and "))};
}

bool varies(const QueryResult& result, std::size_t column) {
  const std::vector<Answer>& answers = result.answers;
  return std::any_of(answers.begin(), answers.end(), [&](const Answer& answer) {
    return answer.group->exact[column] != answers.front().group->exact[column];
  });
}

// Shows 4096 rather than 4096.0.
model::Cell size_cell(double size) {
  if (size == std::floor(size) && size < 1e15) return static_cast<std::int64_t>(size);
  return size;
}

// Makes the number 128 of "128", and 1.2 of "1.2".
model::Cell number_cell(const std::string& text) {
  double number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() ? size_cell(number) : model::Cell(text);
}

// The number of heads of the answer, in place of kAsHeads.
model::Cell heads_cell(const TableIndex& index, const Group& group, const QueryResult& result) {
  for (std::size_t i = 0; i < result.sizes.size(); ++i) {
    if (index.size_columns()[i] == "num_heads") return size_cell(result.sizes[i]);
  }
  for (std::size_t i = 0; i < index.exact_columns().size(); ++i) {
    if (index.exact_columns()[i].name == "num_heads")
      return number_cell(index.exact_value(group, i));
  }
  return std::string(kAsHeads);
}

model::Cell exact_cell(const TableIndex& index,
                       const Group& group,
                       std::size_t column,
                       const QueryResult& result) {
  const std::string& value = index.exact_value(group, column);
  if (index.exact_columns()[column].kind == ValueKind::kText) return value;
  if (value.empty()) return {};
  return value == kAsHeads ? heads_cell(index, group, result) : number_cell(value);
}

// Names a point of the bracket by the sizes in which it differs from the query.
std::string point_text(const Surface& surface, const GridPoint& point, const QueryResult& result) {
  const auto sizes = surface.grid().sizes_of(point.position);
  std::vector<std::string> parts;
  for (std::size_t axis = 0; axis < result.sizes.size(); ++axis) {
    if (sizes[axis] != result.sizes[axis])
      parts.push_back(fmt::format("{}={}", surface.axes()[axis].column, sizes[axis]));
  }
  return core::join(parts, " ");
}

// The ends of the bracket, or the two nearest points.
std::vector<GridPoint> ends_of(const Estimate& estimate) {
  if (estimate.is_exact()) return {};
  if (estimate.low.position == estimate.high.position) return {estimate.low};
  return {estimate.low, estimate.high};
}

// "m=256: 0.0201, m=512: 0.0241"
std::string bracket_text(const Answer& answer, const QueryResult& result) {
  std::vector<std::string> parts;
  for (const GridPoint& point : ends_of(answer.estimate)) {
    parts.push_back(
        fmt::format("{}: {:.4g}", point_text(answer.group->surface, point, result), point.latency));
  }
  return core::join(parts, ", ");
}

void add_bracket_cells(std::vector<model::Cell>& row,
                       const Answer& answer,
                       const QueryResult& result) {
  const std::vector<GridPoint> ends = ends_of(answer.estimate);
  for (const GridPoint& point : ends) {
    row.emplace_back(point_text(answer.group->surface, point, result));
    row.emplace_back(point.latency);
  }
  row.resize(row.size() + 2 * (2 - ends.size()));
}

void add_bracket_columns(model::Table& table, KeyColumns keys) {
  if (keys == KeyColumns::kVarying) {
    table.columns.push_back({.name = "bracket", .unit = "ms"});
    return;
  }
  for (const char* end : {"low", "high"}) {
    table.columns.push_back({.name = end, .description = "end of the bracket"});
    table.columns.push_back({.name = std::string(end) + "_latency", .unit = "ms"});
  }
}

// Which columns of the answers' groups a table shows.
struct ShownColumns {
  std::vector<std::size_t> of_group;  // of the index's exact columns
  bool sizes = false;
  bool interval = false;
  bool roofline = false;
};

// The confidence is the same for almost all rows, so that people get it as a note.
void add_interval_columns(model::Table& table, KeyColumns keys, const QueryResult& result) {
  table.columns.push_back({.name = "interval_low",
                           .unit = "ms",
                           .description = "of the measured row's median; interpolated: none"});
  table.columns.push_back({.name = "interval_high", .unit = "ms"});
  if (keys == KeyColumns::kAll) {
    table.columns.push_back({.name = "interval_confidence",
                             .unit = "%",
                             .description = "with which the interval holds the median"});
    return;
  }
  double least = 1;
  for (const Answer& answer : result.answers) {
    if (answer.interval) least = std::min(least, answer.interval->confidence);
  }
  table.notes.push_back(
      fmt::format("interval: holds the median of the row's run with at least {:.4g} %, if its "
                  "samples are independent",
                  least * 100));
}

void add_interval_cells(std::vector<model::Cell>& row, const Answer& answer, KeyColumns keys) {
  const std::size_t cells = keys == KeyColumns::kAll ? 3 : 2;
  if (!answer.interval) return row.resize(row.size() + cells);
  row.emplace_back(answer.interval->low);
  row.emplace_back(answer.interval->high);
  if (cells > 2) row.emplace_back(answer.interval->confidence * 100);
}

// Adds the columns that tell the groups apart; what all of them share becomes a note.
std::vector<std::size_t> add_group_columns(model::Table& table,
                                           const TableIndex& index,
                                           const QueryResult& result,
                                           KeyColumns keys) {
  std::vector<std::size_t> shown;
  std::vector<std::string> same;
  for (std::size_t i = 0; i < index.exact_columns().size(); ++i) {
    const std::string& name = index.exact_columns()[i].name;
    if (keys == KeyColumns::kAll || varies(result, i)) {
      shown.push_back(i);
      table.columns.push_back({.name = name});
    } else if (const std::string& value = index.exact_value(*result.answers.front().group, i);
               !value.empty()) {
      same.push_back(name + " " + value);
    }
  }
  if (!same.empty()) table.notes.push_back("of all rows: " + core::join(same, ", "));
  return shown;
}

void add_estimate_columns(model::Table& table,
                          const QueryResult& result,
                          KeyColumns keys,
                          const ShownColumns& shown) {
  table.columns.push_back({.name = "latency", .unit = "ms", .better = model::Better::kLower});
  table.columns.push_back(
      {.name = "uncertainty",
       .unit = "%",
       .better = model::Better::kLower,
       .description = "typical error of the bracket's points predicted from their neighbours"});
  table.columns.push_back({.name = "method"});
  add_bracket_columns(table, keys);
  if (shown.roofline) {
    table.columns.push_back({.name = "roofline",
                             .unit = "ms",
                             .description = "the least time that bytes and operations take"});
  }
  if (shown.interval) add_interval_columns(table, keys, result);
}

std::vector<model::Cell> answer_row(const TableIndex& index,
                                    const QueryResult& result,
                                    const Answer& answer,
                                    const ShownColumns& shown) {
  std::vector<model::Cell> row;
  for (const std::size_t column : shown.of_group)
    row.push_back(exact_cell(index, *answer.group, column, result));
  for (std::size_t i = 0; shown.sizes && i < result.sizes.size(); ++i)
    row.push_back(size_cell(result.sizes[i]));
  const Estimate& estimate = answer.estimate;
  row.emplace_back(estimate.latency);
  row.emplace_back(estimate.uncertainty ? model::Cell(*estimate.uncertainty * 100) : model::Cell());
  row.emplace_back(answer.group->surface.method(estimate, result.sizes));
  if (shown.sizes) {
    add_bracket_cells(row, answer, result);
  } else {
    row.emplace_back(bracket_text(answer, result));
  }
  if (shown.roofline)
    row.emplace_back(estimate.roofline > 0 ? model::Cell(estimate.roofline) : model::Cell());
  if (shown.interval)
    add_interval_cells(row, answer, shown.sizes ? KeyColumns::kAll : KeyColumns::kVarying);
  return row;
}

std::optional<MedianInterval> interval_of(const Group& group, const Estimate& estimate) {
  if (!estimate.is_exact() || group.intervals.empty()) return std::nullopt;
  return group.intervals[group.surface.grid().row_at(estimate.low.position)];
}

}  // namespace

core::Result<QueryResult> query(const TableIndex& index,
                                const std::vector<Condition>& conditions,
                                Beyond beyond) {
  Matcher matcher(index);
  for (const Condition& condition : conditions) {
    const core::Status taken = matcher.take(condition);
    if (!taken.ok()) return taken.error();
  }
  matcher.settle_heads();
  const core::Status complete = matcher.check();
  if (!complete.ok()) return complete.error();
  QueryResult result{.sizes = matcher.sizes(), .answers = {}, .refused = {}};
  for (const Group& group : index.groups()) {
    if (!matcher.matches(group)) continue;
    const core::Result<Estimate> estimate = group.surface.at(result.sizes, beyond);
    if (estimate.ok()) {
      result.answers.push_back({.group = &group,
                                .estimate = estimate.value(),
                                .interval = interval_of(group, estimate.value())});
    } else {
      result.refused.push_back({.group = &group, .reason = estimate.error().message});
    }
  }
  if (result.answers.empty() && result.refused.empty()) return no_group(index, conditions);
  std::stable_sort(
      result.answers.begin(), result.answers.end(),
      [](const Answer& a, const Answer& b) { return a.group->exact < b.group->exact; });
  return result;
}

model::Table answers_table(const TableIndex& index, const QueryResult& result, KeyColumns keys) {
  model::Table table{.name = index.table().substr(0, 31), .title = "", .columns = {}};
  ShownColumns shown{
      .of_group = add_group_columns(table, index, result, keys),
      .sizes = keys == KeyColumns::kAll,
      .interval = keys == KeyColumns::kAll ||
                  std::any_of(result.answers.begin(), result.answers.end(),
                              [](const Answer& answer) { return answer.interval.has_value(); }),
      .roofline = std::any_of(result.answers.begin(), result.answers.end(),
                              [](const Answer& answer) { return answer.estimate.roofline > 0; })};
  std::vector<std::string> asked;
  for (std::size_t i = 0; i < result.sizes.size(); ++i) {
    asked.push_back(fmt::format("{}={}", index.size_columns()[i], result.sizes[i]));
    if (shown.sizes) table.columns.push_back({.name = index.size_columns()[i]});
  }
  table.title = index.table() + (asked.empty() ? "" : " at " + core::join(asked, " "));
  add_estimate_columns(table, result, keys, shown);
  for (const Answer& answer : result.answers)
    table.add_row(answer_row(index, result, answer, shown));
  return table;
}

}  // namespace assay::store
