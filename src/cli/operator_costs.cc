#include "cli/operator_costs.h"

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "collect/plan/operator.h"
#include "model/gpu_specs.h"

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
    const auto point = std::make_shared<collect::Case>(measured, std::move(values));
    return [cost, point, places = std::move(places)](std::span<const double> sizes) {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (places[i] != store::kNoPlace) point->set(places[i], std::llround(sizes[i]));
      }
      return row_cost(cost(*point));
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

std::vector<model::PerfField> fields_of(const store::Frame& rows, std::size_t row) {
  std::vector<model::PerfField> fields;
  for (const store::FrameColumn& column : rows.columns) {
    if (!column.is_missing(row)) fields.push_back({column.name, column.value(row)});
  }
  return fields;
}

const model::GpuSpecs* device_of(const store::Frame& rows) {
  const store::FrameColumn* device = rows.find("device");
  if (device == nullptr || device->size() == 0 || device->is_missing(0)) return nullptr;
  return model::find_gpu_specs(store::value_text(device->value(0)));
}

double peak_tflops(const model::GpuSpecs& device, model::DataType type) {
  const store::Peaks peaks{.flops_per_s = {{"bfloat16", device.matrix.bf16},
                                           {"fp8", device.matrix.fp8},
                                           {"int8", device.matrix.int8}}};
  return peaks.flops_of(model::name_of(type));
}

std::optional<store::RowLoad> load_of(const store::RowCost& cost,
                                      double milliseconds,
                                      const model::GpuSpecs& device) {
  const double peak = peak_tflops(device, cost.type);
  if (milliseconds <= 0 || peak <= 0 || device.memory_gbps <= 0) return std::nullopt;
  return store::RowLoad{.memory = cost.bytes / milliseconds / 1e6 / device.memory_gbps,
                        .compute = cost.flops / milliseconds / 1e9 / peak,
                        .milliseconds = milliseconds,
                        .type = std::string(model::name_of(cost.type))};
}

}  // namespace

std::vector<store::CostedOperator> costed_operators(const std::string& table) {
  std::vector<store::CostedOperator> operators;
  for (const collect::Operator* measured : collect::all_operators()) {
    if (measured->table != table) continue;
    for (store::CostedOperator& row : costed_rows(*measured))
      operators.push_back(std::move(row));
  }
  return operators;
}

std::vector<std::optional<store::RowLoad>> row_loads(const std::string& table,
                                                     const store::Frame& rows) {
  std::vector<std::optional<store::RowLoad>> loads(rows.num_rows());
  const store::FrameColumn* latency = rows.find("latency");
  const model::GpuSpecs* device = device_of(rows);
  if (latency == nullptr || device == nullptr) return loads;
  const store::CostBinder costs = store::table_costs(costed_operators(table));
  for (std::size_t row = 0; row < loads.size(); ++row) {
    const auto cost = costs(fields_of(rows, row), {});
    if (cost) loads[row] = load_of(cost({}), store::number_at(*latency, row), *device);
  }
  return loads;
}

}  // namespace assay::cli
