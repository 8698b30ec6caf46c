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

// "dtype" becomes "gemm_dtype", "attn_dtype".
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

  // As many key-value heads as heads are an exact value of their own.
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
    // Another number is no misspelling.
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
  std::vector<std::vector<std::uint32_t>> exact_;  // allowed; empty: all
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
      result.answers.push_back({.group = &group, .estimate = estimate.value()});
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

}  // namespace assay::store
