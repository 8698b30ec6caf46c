#include "cli/operator_costs.h"

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "collect/plan/operator.h"
#include "store/files/table_spec.h"
#include "store/judging/row_load.h"

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

// A case of the operator, to learn which rows it has. std::nullopt: an axis has no usual values.
std::optional<collect::Case> any_case(const collect::Operator& measured) {
  std::vector<model::PerfValue> values;
  for (const collect::Axis& axis : measured.axes) {
    if (axis.common.empty()) return std::nullopt;
    values.push_back(axis.common.front());
  }
  return collect::Case(measured, std::move(values));
}

// A bound cost remembers what it was asked last, because most sizes are the same again.
struct LastCase {
  collect::Case point;
  std::vector<double> sizes;
};

constexpr double kNoSize = std::numeric_limits<double>::quiet_NaN();

using CaseCost = std::function<collect::Cost(const collect::Case&)>;

store::CostedOperator costed(const collect::Operator& measured,
                             const std::string& op_name,
                             const CaseCost& cost) {
  store::CostedOperator costed{.name = op_name, .columns = {}, .cost = {}};
  for (const collect::Axis& axis : measured.axes)
    costed.columns.push_back({.name = axis.column, .kind = kind_of(axis)});
  costed.cost = [&measured, cost](const std::vector<model::PerfValue>& values) {
    return row_cost(cost(collect::Case(measured, values)));
  };
  costed.bound_cost = [&measured, cost](std::vector<model::PerfValue> values,
                                        std::vector<std::size_t> places) {
    const auto last =
        std::make_shared<LastCase>(LastCase{.point = collect::Case(measured, std::move(values)),
                                            .sizes = std::vector<double>(places.size(), kNoSize)});
    return [cost, last, places = std::move(places)](std::span<const double> sizes) {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (places[i] == store::kNoPlace || sizes[i] == last->sizes[i]) continue;
        last->point.set(places[i], std::llround(sizes[i]));
        last->sizes[i] = sizes[i];
      }
      return row_cost(cost(last->point));
    };
  };
  return costed;
}

// An operator's cost is that of all its rows, unless it has several and this is the row of one
// kernel.
std::vector<store::CostedOperator> costed_rows(const collect::Operator& measured) {
  const std::optional<collect::Case> sample = any_case(measured);
  const std::vector<collect::Part> parts =
      sample ? measured.parts(*sample) : std::vector<collect::Part>();
  if (parts.empty()) return {costed(measured, measured.name, measured.cost)};
  std::vector<store::CostedOperator> rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].table != measured.table) continue;
    const bool is_one_kernel = parts.size() > 1 && !parts[i].less && parts[i].then.empty();
    const CaseCost of_kernel = [&measured, i](const collect::Case& point) {
      return collect::cost_of(measured.parts(point)[i].kernel);
    };
    rows.push_back(
        costed(measured, parts[i].op_name, is_one_kernel ? of_kernel : CaseCost(measured.cost)));
  }
  return rows;
}

}  // namespace

std::vector<store::CostedOperator> costed_operators(const std::string& table) {
  std::vector<store::CostedOperator> operators;
  const std::string_view fastest = store::table_of_fastest(table);
  for (const collect::Operator* measured : collect::all_operators()) {
    if (measured->table != fastest) continue;
    for (store::CostedOperator& row : costed_rows(*measured))
      operators.push_back(std::move(row));
  }
  return operators;
}

std::vector<std::optional<store::RowLoad>> row_loads(const std::string& table,
                                                     const store::Frame& rows) {
  return store::row_loads(costed_operators(table), rows);
}

}  // namespace assay::cli
