#include "store/judging/roofline.h"

#include <algorithm>
#include <memory>

namespace assay::store {
namespace {

using Key = std::vector<model::PerfField>;

// The most by which an L2 cache may be faster than memory. A100's reads 5120 bytes a clock, which
// is 4.6 times the bandwidth of its memory; in later GPUs the two are closer.
constexpr double kCacheSpeedup = 5;

// kMayHold: data that fit in the L2 cache may come from there.
enum class Cache { kHoldsNothing, kMayHold };

const model::PerfValue* find_value(const Key& key, std::string_view column) {
  const auto found = std::find_if(key.begin(), key.end(), [&](const model::PerfField& field) {
    return field.column == column;
  });
  return found == key.end() ? nullptr : &found->value;
}

// The operator that measures rows with this key; null if that is unknown.
const CostedOperator* operator_of(const std::vector<CostedOperator>& operators, const Key& key) {
  if (operators.size() == 1) return &operators.front();
  const model::PerfValue* name = find_value(key, "op_name");
  for (const CostedOperator& candidate : operators) {
    if (name != nullptr && *name == model::PerfValue(candidate.name)) return &candidate;
  }
  return nullptr;
}

bool suits(const CostedOperator::Column& column, const model::PerfValue& value) {
  switch (column.kind) {
    case ColumnKind::kWhole:
      return std::holds_alternative<std::int64_t>(value);
    case ColumnKind::kReal:
      return std::holds_alternative<double>(value);
    case ColumnKind::kText:
      return std::holds_alternative<std::string>(value);
    case ColumnKind::kDataType:
      break;
  }
  const auto* type = std::get_if<std::string>(&value);
  return type != nullptr && model::data_type_named(*type).has_value();
}

// Layers of experts without a gate compute two products rather than the three of the cost.
bool is_without_gate(const Key& key) {
  const model::PerfValue* kernel = find_value(key, "kernel_source");
  const auto* name = kernel == nullptr ? nullptr : std::get_if<std::string>(kernel);
  return name != nullptr && name->find("nongated") != std::string::npos;
}

double bound_ms(const CostedOperator& measured, const Key& key, const Peaks& peaks, Cache cache) {
  if (is_without_gate(key)) return 0;
  std::vector<model::PerfValue> values;
  for (const CostedOperator::Column& column : measured.columns) {
    const model::PerfValue* value = find_value(key, column.name);
    // Tables from before there were sliding windows have no such column.
    if (value == nullptr && column.name == "window_size") {
      values.emplace_back(std::int64_t{0});
      continue;
    }
    if (value == nullptr || !suits(column, *value)) return 0;
    values.push_back(*value);
  }
  const RowCost cost = measured.cost(values);
  const bool is_held = cache == Cache::kMayHold && cost.bytes <= peaks.l2_bytes;
  return peaks.roofline_ms(is_held ? cost.bytes / kCacheSpeedup : cost.bytes, cost.flops,
                           model::name_of(cost.type), cost.link_bytes);
}

}  // namespace

bool holds_differences(const std::string& table) {
  return table == "computescale_perf";
}

Rooflines table_rooflines(const std::string& table,
                          const std::vector<CostedOperator>& operators,
                          const Peaks& peaks) {
  if (operators.empty() || holds_differences(table)) return {};
  const auto shared = std::make_shared<const std::vector<CostedOperator>>(operators);
  const auto bound_with = [&](Cache cache) {
    return [shared, peaks, cache](const Key& key) {
      const CostedOperator* measured = operator_of(*shared, key);
      return measured == nullptr ? 0 : bound_ms(*measured, key, peaks, cache);
    };
  };
  return {.all = bound_with(Cache::kHoldsNothing), .cached = bound_with(Cache::kMayHold)};
}

}  // namespace assay::store
