#include "collect/plan/operator.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/check.h"
#include "core/text.h"

namespace assay::collect {
namespace {

using Values = std::vector<model::PerfValue>;

constexpr std::array kTypes = {DataType::kFloat32, DataType::kFloat16,  DataType::kBfloat16,
                               DataType::kFp8,     DataType::kFp8Block, DataType::kInt8};

template <class List>
const List& of_grid(Grid grid, const List& common, const List& coarse, const List& fine) {
  const bool is_coarse = grid != Grid::kCommon && grid != Grid::kFine;
  if (is_coarse && !coarse.empty()) return coarse;
  if (grid == Grid::kFine && !fine.empty()) return fine;
  return common;
}

std::optional<std::size_t> axis_named(const Operator& op, std::string_view column) {
  // Costs of rows are asked millions of times, and most names differ in their length or first
  // letter.
  std::size_t number = 0;
  for (const Axis& axis : op.axes) {
    const std::string& name = axis.column;
    if (name.size() == column.size() && name.front() == column.front() &&
        (name.size() == 1 || name == column))
      return number;
    ++number;
  }
  return std::nullopt;
}

const model::PerfValue& value_of(const Case& point, std::string_view column) {
  const std::optional<std::size_t> axis = axis_named(point.op(), column);
  ASSAY_CHECK(axis, "a case has no such axis");
  return point.values()[*axis];
}

bool takes_text(const Axis& axis, const std::string& text) {
  const Values& known = axis.common;
  if (std::find(known.begin(), known.end(), model::PerfValue(text)) != known.end()) return true;
  if (axis.accepts) return axis.accepts(text);
  return axis.takes_all_types() && data_type_named(text);
}

// The values that an axis takes, in words.
std::string taken_by(const Axis& axis) {
  if (!std::holds_alternative<std::string>(axis.common.front())) {
    return fmt::format("an integer from {} to {}", axis.least, axis.most);
  }
  return (axis.takes_all_types() ? "a data type: " : "one of ") + core::join(axis.names(), ", ");
}

bool takes_value(const Axis& axis, const model::PerfValue& value) {
  if (value.index() != axis.common.front().index()) return false;
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (integer != nullptr) return *integer >= axis.least && *integer <= axis.most;
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr || takes_text(axis, *text);
}

template <class Number>
std::optional<model::PerfValue> number_in(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || stop != end) return std::nullopt;
  return model::PerfValue(number);
}

std::optional<model::PerfValue> value_in(const Axis& axis, std::string_view text) {
  const model::PerfValue& like = axis.common.front();
  if (std::holds_alternative<std::int64_t>(like)) return number_in<std::int64_t>(text);
  if (std::holds_alternative<double>(like)) return number_in<double>(text);
  return model::PerfValue(std::string(text));
}

// Reads the values of all axes from the rest of an id: " m=1 n=32".
std::optional<Values> values_in(const Operator& op, std::string_view text) {
  Values values;
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    const std::string start = " " + op.axes[i].column + "=";
    if (!text.starts_with(start)) return std::nullopt;
    text.remove_prefix(start.size());
    const bool is_last = i + 1 == op.axes.size();
    const std::size_t end = is_last ? text.size() : text.find(" " + op.axes[i + 1].column + "=");
    const auto value = value_in(op.axes[i], text.substr(0, end));
    if (!value || !takes_value(op.axes[i], *value)) return std::nullopt;
    values.push_back(*value);
    text.remove_prefix(std::min(end, text.size()));
  }
  return values;
}

}  // namespace

std::string text_of(const model::PerfValue& value) {
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value);
}

std::string_view name_of(Grid grid) {
  switch (grid) {
    case Grid::kCoarse:
      return "coarse";
    case Grid::kFine:
      return "fine";
    case Grid::kCpu:
      return "cpu";
    case Grid::kModels:
      return "models";
    case Grid::kCommon:
      break;
  }
  return "common";
}

const std::vector<model::PerfValue>& Axis::values(Grid grid) const {
  if (grid == Grid::kModels && !models.empty()) return models;
  return of_grid(grid, common, coarse, fine);
}

bool Axis::has_types() const {
  return std::all_of(common.begin(), common.end(), [](const model::PerfValue& value) {
    const auto* name = std::get_if<std::string>(&value);
    return name != nullptr && data_type_named(*name);
  });
}

bool Axis::takes_all_types() const {
  return has_types() && !accepts;
}

std::vector<std::string> Axis::names() const {
  std::vector<std::string> names;
  if (takes_all_types()) {
    for (const DataType type : kTypes)
      names.emplace_back(name_of(type));
    return names;
  }
  for (const model::PerfValue& value : common) {
    if (const auto* name = std::get_if<std::string>(&value)) names.push_back(*name);
  }
  return names;
}

const AxisGroup::Rows& AxisGroup::rows(Grid grid) const {
  return of_grid(grid, common, coarse, fine);
}

std::int64_t Case::integer(std::string_view column) const {
  const auto* held = std::get_if<std::int64_t>(&value_of(*this, column));
  ASSAY_CHECK(held, "this axis of a case holds no integer");
  return *held;
}

const std::string& Case::text(std::string_view column) const {
  const auto* held = std::get_if<std::string>(&value_of(*this, column));
  ASSAY_CHECK(held, "this axis of a case holds no text");
  return *held;
}

DataType Case::type(std::string_view column) const {
  const std::optional<DataType> named = data_type_named(text(column));
  ASSAY_CHECK(named, "this axis of a case holds no data type");
  return *named;
}

std::string Case::id() const {
  std::string made = operator_->name;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    made += fmt::format(" {}={}", operator_->axes[i].column, text_of(values_[i]));
  }
  return made;
}

core::Result<Case> case_of(std::string_view id) {
  const std::string_view name = id.substr(0, id.find(' '));
  const Operator* op = find_operator(name);
  auto values = op == nullptr ? std::nullopt : values_in(*op, id.substr(name.size()));
  if (values) return Case(*op, std::move(*values));
  return core::Error{fmt::format("no operator of this program has the case '{}'", id)};
}

std::vector<const Operator*> all_operators() {
  return core::Registry<Operator>::all();
}

const Operator* find_operator(std::string_view name) {
  for (const Operator* candidate : all_operators()) {
    if (name == candidate->name) return candidate;
    if (candidate->alias != nullptr && name == candidate->alias) return candidate;
  }
  return nullptr;
}

core::Status check_override(const Operator& op, const AxisOverride& given) {
  const std::optional<std::size_t> index = axis_named(op, given.column);
  if (!index) return core::Error{fmt::format("{} has no axis {}", op.name, given.column)};
  const Axis& axis = op.axes[*index];
  for (const model::PerfValue& value : given.values) {
    if (takes_value(axis, value)) continue;
    return core::Error{fmt::format("{} of {} cannot be '{}': it is {}", axis.column, op.name,
                                   text_of(value), taken_by(axis))};
  }
  return {};
}

std::string option_name(const Axis& axis) {
  std::string name = axis.option.empty() ? axis.column : axis.option;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

core::Result<AxisOverride> parse_override(const Operator& op,
                                          const Axis& axis,
                                          const std::vector<std::string>& words) {
  AxisOverride made{.column = axis.column, .values = {}};
  for (const std::string& word : words) {
    // A word that is no number stays a text, and an axis of numbers refuses it.
    model::PerfValue value = value_in(axis, word).value_or(word);
    const core::Status taken = check_override(op, {.column = axis.column, .values = {value}});
    if (!taken.ok()) {
      const std::string near = core::nearest(word, axis.names());
      return core::Error{
          fmt::format("--{}: {}{}", option_name(axis), taken.error().message,
                      near.empty() ? "" : fmt::format("; did you mean '{}'?", near))};
    }
    made.values.push_back(std::move(value));
  }
  return made;
}

}  // namespace assay::collect
