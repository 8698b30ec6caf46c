#include "store/answers/matcher.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

#include "core/text.h"
#include "model/data_type.h"
#include "model/serving/model.h"

namespace assay::store {
namespace {

constexpr std::size_t kShownValues = 24;
constexpr std::string_view kOr = " or ";

std::string first_of(const std::vector<std::string>& values) {
  if (values.size() <= kShownValues) return core::join(values, ", ");
  const std::vector<std::string> first(values.begin(), values.begin() + kShownValues);
  return fmt::format("{} and {} more", core::join(first, ", "), values.size() - kShownValues);
}

bool equal_ignoring_case(const std::string& a, const std::string& b) {
  return a.size() == b.size() && core::contains_ignoring_case(a, b);
}

// The values that mean one of a column: of the kernels "A or B" (group_rows.cc) also A and B.
std::vector<std::string> meanings(const std::string& column, const std::string& value) {
  std::vector<std::string> words = {value};
  if (column != "kernel_source") return words;
  for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + kOr.size()) {
    end = value.find(kOr, at);
    words.push_back(value.substr(at, end == std::string::npos ? end : end - at));
  }
  return words;
}

template <class List, class Name>
std::size_t index_in(const List& list, const Name& has_name) {
  return static_cast<std::size_t>(std::find_if(list.begin(), list.end(), has_name) - list.begin());
}

std::size_t size_column(const WorkRows& rows, const std::string& name) {
  return index_in(rows.sizes, [&](const std::string& size) { return size == name; });
}

std::size_t exact_column(const WorkRows& rows, const std::string& name) {
  return index_in(rows.exact, [&](const ExactColumn& column) { return column.name == name; });
}

// Sizes that a query may leave open, because models have few values of them, and which it may name
// though they were not measured.
bool may_be_open(const std::string& size) {
  static const std::set<std::string, std::less<>> sizes = {
      "num_key_value_heads", "head_dim",    "hidden_size", "inter_size",  "topk",
      "num_experts",         "moe_tp_size", "moe_ep_size", "num_k_heads", "num_v_heads"};
  return sizes.count(size) > 0;
}

std::vector<SizeRange> ranges_of(const WorkRows& rows) {
  std::vector<SizeRange> ranges(
      rows.sizes.size(),
      {.least = std::numeric_limits<double>::infinity(), .greatest = 0, .counts = true});
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    const auto sizes = rows.sizes_of(row);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      SizeRange& range = ranges[i];
      range.least = std::min(range.least, sizes[i]);
      range.greatest = std::max(range.greatest, sizes[i]);
      range.counts = range.counts && sizes[i] == std::floor(sizes[i]);
    }
  }
  return ranges;
}

// A word that is no type is misspelt; a type that the table lacks was not measured.
bool is_type_column(const std::string& column) {
  return column == "dtype" || column.ends_with("_dtype");
}

bool is_type(const std::string& word) {
  const std::string name = core::lower_case(word);
  return model::data_type_named(name).has_value() || serving::quantization_named(name).has_value();
}

}  // namespace

bool SizeRange::takes(double size) const {
  return std::isfinite(size) && size >= 0 && (!counts || size == std::floor(size));
}

std::string SizeRange::wanted() const {
  if (least > 0) return counts ? "a whole number of at least 1" : "a number above 0";
  return counts ? "a whole number of at least 0" : "a number of at least 0";
}

Matcher::Matcher(const WorkRows& rows, ColumnShown column_shown)
    : rows_(&rows),
      shown_(column_shown),
      ranges_(std::make_shared<const std::vector<SizeRange>>(ranges_of(rows))),
      sizes_(rows.sizes.size()),
      exact_(rows.exact.size()) {}

std::string Matcher::shown(const std::string& column) const {
  return shown_ == nullptr ? column : shown_(column);
}

const SizeRange& Matcher::range_of(const std::string& size) const {
  return (*ranges_)[size_column(*rows_, size)];
}

core::Result<double> Matcher::size_of(const std::string& column, const std::string& text) const {
  double value = 0;
  const char* text_end = text.data() + text.size();
  const auto end = std::from_chars(text.data(), text_end, value);
  const bool is_number = end.ec == std::errc() && end.ptr == text_end;
  const SizeRange& range = range_of(column);
  if (is_number && range.takes(value)) return value;
  return core::Error{fmt::format("{} takes {}, not '{}'", shown(column), range.wanted(), text)};
}

bool Matcher::has_column(const std::string& column) const {
  const std::string name = resolved(column);
  return rows_->work.is_label(name) || size_column(*rows_, name) < sizes_.size() ||
         exact_column(*rows_, name) < exact_.size();
}

core::Status Matcher::check_column(const std::string& column) const {
  if (!has_column(column)) return no_column(column);
  const std::string name = resolved(column);
  if (!is_taken(name)) return {};
  return core::Error{fmt::format("{} is given twice, for all questions and for each", name)};
}

bool Matcher::is_taken(const std::string& name) const {
  const std::size_t size = size_column(*rows_, name);
  if (size < sizes_.size()) return sizes_[size].has_value();
  const std::size_t column = exact_column(*rows_, name);
  return column < exact_.size() && !exact_[column].empty();
}

// "dtype" stands for "gemm_dtype", "attn_dtype" and the like.
std::string Matcher::resolved(const std::string& name) const {
  if (name != "dtype") return name;
  for (const ExactColumn& column : rows_->exact) {
    if (column.name == name) return name;
    if (column.name.ends_with("_dtype") && column.name != "kv_cache_dtype") return column.name;
  }
  return name;
}

core::Error Matcher::no_column(const std::string& name) const {
  std::vector<std::string> names = rows_->sizes;
  for (const ExactColumn& column : rows_->exact)
    names.push_back(column.name);
  const std::string near = core::nearest(name, names);
  const std::string hint = near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  return core::Error{fmt::format("{} has no column '{}'{} It has {}", rows_->table, name,
                                 near.empty() ? "." : hint, core::join(names, ", "))};
}

core::Error Matcher::no_value(const ExactColumn& column, const std::string& value) const {
  // A number that does not exist is no misspelling of another.
  const bool is_number = value.find_first_not_of("0123456789.") == std::string::npos;
  const std::string near = is_number ? "" : core::nearest(value, column.values);
  const std::string hint = near.empty() ? "" : fmt::format(" (did you mean {}?)", near);
  return core::Error{fmt::format("{} has no {} '{}'{}; it has {}", rows_->table, column.name, value,
                                 hint, first_of(column.values))};
}

std::vector<std::uint32_t> Matcher::meant_values(std::size_t number,
                                                 const std::string& value) const {
  const ExactColumn& column = rows_->exact[number];
  std::vector<std::uint32_t> meant;
  for (std::uint32_t i = 0; i < column.values.size(); ++i) {
    const std::vector<std::string> words = meanings(column.name, column.values[i]);
    if (std::any_of(words.begin(), words.end(),
                    [&](const std::string& word) { return equal_ignoring_case(word, value); })) {
      meant.push_back(i);
    }
  }
  return meant;
}

core::Status Matcher::take_exact(std::size_t number, const std::string& value) {
  exact_[number] = meant_values(number, value);
  if (exact_[number].empty()) return no_value(rows_->exact[number], value);
  return {};
}

core::Status Matcher::check(const Condition& condition) const {
  const std::string name = resolved(condition.column);
  if (rows_->work.is_label(name)) return {};
  if (is_taken(name)) {
    return core::Error{fmt::format("{} is given twice, the second time as {}={}", shown(name),
                                   condition.column, condition.value)};
  }
  if (size_column(*rows_, name) < rows_->sizes.size()) {
    const double value = ASSAY_TRY(size_of(name, condition.value));
    const SizeRange& range = range_of(name);
    if (value > 0 || range.least == 0) return {};
    return core::Error{fmt::format("{}={} is no work: {} was measured from {} to {}", shown(name),
                                   condition.value, shown(name), range.least, range.greatest)};
  }
  const std::size_t column = exact_column(*rows_, name);
  if (column == rows_->exact.size()) return no_column(condition.column);
  const bool is_misspelt = is_type_column(name) && !is_type(condition.value) &&
                           meant_values(column, condition.value).empty();
  if (is_misspelt) return no_value(rows_->exact[column], condition.value);
  return {};
}

core::Status Matcher::take(const Condition& condition) {
  ASSAY_TRY(check(condition));
  const std::string name = resolved(condition.column);
  if (rows_->work.is_label(name)) return {};
  if (const std::size_t size = size_column(*rows_, name); size < rows_->sizes.size()) {
    sizes_[size] = ASSAY_TRY(size_of(name, condition.value));
    return {};
  }
  return take_exact(exact_column(*rows_, name), condition.value);
}

core::Status Matcher::settle() {
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (sizes_[i]) continue;
    const SizeRange& range = (*ranges_)[i];
    if (range.least == range.greatest) {
      sizes_[i] = range.least;
    } else if (!may_be_open(rows_->sizes[i])) {
      missing.push_back(
          fmt::format("{} ({} to {})", shown(rows_->sizes[i]), range.least, range.greatest));
    }
  }
  if (missing.empty()) return {};
  return core::Error{fmt::format("{} needs {}", rows_->table, core::join(missing, " and "))};
}

std::vector<std::size_t> Matcher::families() const {
  std::vector<std::size_t> found;
  for (std::size_t family = 0; family < rows_->num_families(); ++family) {
    const auto codes = rows_->codes_of(family);
    bool matches = true;
    for (std::size_t i = 0; matches && i < exact_.size(); ++i) {
      matches = exact_[i].empty() ||
                std::find(exact_[i].begin(), exact_[i].end(), codes[i]) != exact_[i].end();
    }
    if (matches) found.push_back(family);
  }
  return found;
}

std::vector<std::string> Matcher::open_sizes() const {
  std::vector<std::string> open;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (!sizes_[i]) open.push_back(rows_->sizes[i]);
  }
  return open;
}

std::vector<std::vector<double>> Matcher::sizes(std::size_t family) const {
  std::vector<double> asked;
  for (const auto& size : sizes_)
    asked.push_back(size.value_or(0));
  if (open_sizes().empty()) return {asked};
  std::set<std::vector<double>> found;
  for (std::size_t row = rows_->begins[family]; row < rows_->begins[family + 1]; ++row) {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (!sizes_[i]) asked[i] = rows_->sizes_of(row)[i];
    }
    found.insert(asked);
  }
  return {found.begin(), found.end()};
}

core::Error Matcher::no_family(const std::vector<Condition>& conditions) const {
  std::vector<std::string> wanted;
  for (const Condition& condition : conditions) {
    const std::string name = resolved(condition.column);
    if (exact_column(*rows_, name) < rows_->exact.size())
      wanted.push_back(name + "=" + condition.value);
  }
  return core::Error{fmt::format("{}: no row has {} together, though each of them exists",
                                 rows_->table, core::join(wanted, " and "))};
}

}  // namespace assay::store
