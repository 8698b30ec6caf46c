#include "cli/operator_costs.h"

#include <cmath>
#include <memory>

#include "collect/plan/operator.h"

namespace assay::cli {
namespace {

store::ColumnKind kind_of(const collect::Axis& axis) {
  if (axis.column.ends_with("dtype")) return store::ColumnKind::kDataType;
  if (axis.common.empty() || std::holds_alternative<std::string>(axis.common.front())) {
    return store::ColumnKind::kText;
  }
  return std::holds_alternative<double>(axis.common.front()) ? store::ColumnKind::kReal
                                                             : store::ColumnKind::kWhole;
}

store::RowCost row_cost(const collect::Cost& cost) {
  return {
      .bytes = cost.bytes, .flops = cost.flops, .type = cost.type, .link_bytes = cost.link_bytes};
}

// The op_name of the operator's rows, or of its first ones.
std::string op_name_of(const collect::Operator& measured) {
  std::vector<model::PerfValue> values;
  for (const collect::Axis& axis : measured.axes) {
    if (axis.common.empty()) return measured.name;
    values.push_back(axis.common.front());
  }
  const auto parts = measured.parts(collect::Case(measured, values));
  return parts.empty() ? measured.name : parts.front().op_name;
}

store::CostedOperator costed(const collect::Operator& measured) {
  store::CostedOperator costed{.name = op_name_of(measured), .columns = {}, .cost = {}};
  for (const collect::Axis& axis : measured.axes)
    costed.columns.push_back({.name = axis.column, .kind = kind_of(axis)});
  costed.cost = [&measured](const std::vector<model::PerfValue>& values) {
    return row_cost(measured.cost(collect::Case(measured, values)));
  };
  costed.bound_cost = [&measured](std::vector<model::PerfValue> values,
                                  std::vector<std::size_t> places) {
    const auto point = std::make_shared<collect::Case>(measured, std::move(values));
    return [&measured, point, places = std::move(places)](std::span<const double> sizes) {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (places[i] != store::kNoPlace) point->set(places[i], std::llround(sizes[i]));
      }
      return row_cost(measured.cost(*point));
    };
  };
  return costed;
}

}  // namespace

std::vector<store::CostedOperator> costed_operators(const std::string& table) {
  std::vector<store::CostedOperator> operators;
  for (const collect::Operator* measured : collect::all_operators()) {
    if (measured->table == table) operators.push_back(costed(*measured));
  }
  return operators;
}

}  // namespace assay::cli
