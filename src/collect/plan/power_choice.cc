#include "collect/plan/power_choice.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "collect/plan/operator.h"

namespace assay::collect {
namespace {

// The columns of the sizes of a launch's work. Axes of a group are shapes of models.
std::vector<std::string> size_columns(const std::string& operator_name) {
  std::vector<std::string> columns;
  const Operator* op = find_operator(operator_name);
  if (op == nullptr) return columns;
  const auto is_in = [](const AxisGroup& group, const std::string& column) {
    return std::find(group.columns.begin(), group.columns.end(), column) != group.columns.end();
  };
  for (const Axis& axis : op->axes) {
    const bool is_shape =
        std::any_of(op->groups.begin(), op->groups.end(),
                    [&](const AxisGroup& group) { return is_in(group, axis.column); });
    if (!is_shape && (axis.unit == "tokens" || axis.unit == "requests"))
      columns.push_back(axis.column);
  }
  return columns;
}

using Sizes = std::vector<std::int64_t>;

// The cases that differ in sizes only.
class Key {
 public:
  void add(Sizes sizes, PlannedCase& planned) { cases_.emplace_back(std::move(sizes), &planned); }

  void choose(std::int64_t every) {
    std::sort(cases_.begin(), cases_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Sizes> values(cases_.front().first.size());
    for (std::size_t size = 0; size < values.size(); ++size)
      values[size] = values_of(size);
    for (auto& [sizes, planned] : cases_)
      planned->measure_power = sum_of_ranks(sizes, values) % every == 0;
    cases_.back().second->measure_power = true;
  }

 private:
  [[nodiscard]] Sizes values_of(std::size_t size) const {
    Sizes values;
    for (const auto& [sizes, planned] : cases_)
      values.push_back(sizes[size]);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  static std::int64_t sum_of_ranks(const Sizes& sizes, const std::vector<Sizes>& values) {
    std::int64_t sum = 0;
    for (std::size_t size = 0; size < sizes.size(); ++size) {
      const Sizes& all = values[size];
      sum += std::lower_bound(all.begin(), all.end(), sizes[size]) - all.begin();
    }
    return sum;
  }

  std::vector<std::pair<Sizes, PlannedCase*>> cases_;
};

// Takes the sizes out of a case's values; std::nullopt if it has none.
std::optional<Sizes> take_sizes(const std::vector<std::string>& columns, nlohmann::json& values) {
  Sizes sizes;
  for (const std::string& column : columns) {
    const auto found = values.is_object() ? values.find(column) : values.end();
    if (found == values.end() || !found->is_number_integer()) return std::nullopt;
    sizes.push_back(found->get<std::int64_t>());
    values.erase(found);
  }
  if (sizes.empty()) return std::nullopt;
  return sizes;
}

}  // namespace

void choose_power(std::vector<PlannedCase>& cases, std::int64_t every) {
  std::map<std::string, std::vector<std::string>> columns_of;
  std::map<std::string, Key> keys;
  for (PlannedCase& planned : cases) {
    planned.measure_power = true;
    const std::string& name = planned.operator_name;
    const auto [columns, is_new] = columns_of.try_emplace(name);
    if (is_new) columns->second = size_columns(name);
    nlohmann::json values = nlohmann::json::parse(planned.json, nullptr, false);
    std::optional<Sizes> sizes = take_sizes(columns->second, values);
    if (sizes) keys[name + values.dump()].add(std::move(*sizes), planned);
  }
  for (auto& [name, key] : keys)
    key.choose(every);
}

}  // namespace assay::collect
