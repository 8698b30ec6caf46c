#include "collect/plan/power_choice.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include "collect/plan/operator.h"

namespace assay::collect {
namespace {

using Sizes = std::vector<std::pair<std::int64_t, PlannedCase*>>;

// Returns the column of the first inner size, or "" if there is none.
std::string size_column(const PlannedCase& planned, const nlohmann::json& values) {
  const Operator* op = find_operator(planned.operator_name);
  if (op == nullptr || !values.is_object()) return "";
  for (const Axis& axis : op->axes) {
    const auto found = values.find(axis.column);
    if (axis.nesting == Nesting::kInner && found != values.end() && found->is_number_integer())
      return axis.column;
  }
  return "";
}

}  // namespace

void choose_power(std::vector<PlannedCase>& cases, std::int64_t every) {
  std::map<std::string, Sizes> sizes_of_key;
  for (PlannedCase& planned : cases) {
    nlohmann::json values = nlohmann::json::parse(planned.json, nullptr, false);
    const std::string column = size_column(planned, values);
    planned.measure_power = every <= 1 || column.empty();
    if (planned.measure_power) continue;
    const auto size = values[column].get<std::int64_t>();
    values.erase(column);
    sizes_of_key[planned.operator_name + values.dump()].emplace_back(size, &planned);
  }
  for (auto& [key, sizes] : sizes_of_key) {
    std::sort(sizes.begin(), sizes.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < sizes.size(); i += static_cast<std::size_t>(every))
      sizes[i].second->measure_power = true;
    sizes.back().second->measure_power = true;
  }
}

}  // namespace assay::collect
