#include "store/judging/row_load.h"

namespace assay::store {
namespace {

std::vector<model::PerfField> fields_of(const Frame& rows, std::size_t row) {
  std::vector<model::PerfField> fields;
  for (const FrameColumn& column : rows.columns) {
    if (!column.is_missing(row)) fields.push_back({column.name, column.value(row)});
  }
  return fields;
}

const model::GpuSpecs* device_of(const Frame& rows) {
  const FrameColumn* device = rows.find("device");
  if (device == nullptr || device->size() == 0 || device->is_missing(0)) return nullptr;
  return model::find_gpu_specs(value_text(device->value(0)));
}

double peak_tflops(const model::GpuSpecs& device, model::DataType type) {
  const Peaks peaks{.flops_per_s = {{"bfloat16", device.matrix.bf16},
                                    {"fp8", device.matrix.fp8},
                                    {"int8", device.matrix.int8}}};
  return peaks.flops_of(model::name_of(type));
}

}  // namespace

std::optional<RowLoad> row_load(const RowCost& cost,
                                double milliseconds,
                                const model::GpuSpecs& device) {
  const double peak = peak_tflops(device, cost.type);
  if (!(milliseconds > 0) || peak <= 0 || device.memory_gbps <= 0) return std::nullopt;
  return RowLoad{.memory = cost.bytes / milliseconds / 1e6 / device.memory_gbps,
                 .compute = cost.flops / milliseconds / 1e9 / peak,
                 .milliseconds = milliseconds,
                 .type = std::string(model::name_of(cost.type))};
}

std::vector<std::optional<RowLoad>> row_loads(const std::vector<CostedOperator>& operators,
                                              const Frame& rows) {
  std::vector<std::optional<RowLoad>> loads(rows.num_rows());
  const FrameColumn* latency = rows.find("latency");
  const model::GpuSpecs* device = device_of(rows);
  if (latency == nullptr || device == nullptr) return loads;
  const CostBinder costs = table_costs(operators);
  for (std::size_t row = 0; row < loads.size(); ++row) {
    const auto cost = costs(fields_of(rows, row), {});
    if (cost) loads[row] = row_load(cost({}), number_at(*latency, row), *device);
  }
  return loads;
}

}  // namespace assay::store
