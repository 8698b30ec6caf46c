#include "store/judging/roofline.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "store/files/table_spec.h"

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

// A column that a table of earlier times, or a query, need not have: it changes no cost.
std::optional<model::PerfValue> default_of(std::string_view column) {
  if (column == "window_size") return model::PerfValue(std::int64_t{0});
  if (column == "tp_size" || column == "d_model") return model::PerfValue(std::int64_t{1});
  if (column == "vocabulary") return model::PerfValue(std::int64_t{1} << 17U);
  return std::nullopt;
}

double bound_ms(const CostedOperator& measured, const Key& key, const Peaks& peaks, Cache cache) {
  if (is_without_gate(key)) return 0;
  std::vector<model::PerfValue> values;
  for (const CostedOperator::Column& column : measured.columns) {
    const model::PerfValue* value = find_value(key, column.name);
    if (const auto usual = default_of(column.name); value == nullptr && usual) {
      values.push_back(*usual);
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

CostedOperator::SizedCost sized_cost(const CostedOperator& measured,
                                     const Key& exact,
                                     const std::vector<std::string>& sizes) {
  if (is_without_gate(exact) || !measured.bound_cost) return nullptr;
  std::vector<model::PerfValue> values;
  std::vector<std::size_t> places(sizes.size(), kNoPlace);
  for (std::size_t i = 0; i < measured.columns.size(); ++i) {
    const CostedOperator::Column& column = measured.columns[i];
    const auto size = std::find(sizes.begin(), sizes.end(), column.name);
    if (size != sizes.end()) {
      if (column.kind != ColumnKind::kWhole) return nullptr;
      places[static_cast<std::size_t>(size - sizes.begin())] = i;
      values.emplace_back(std::int64_t{1});
      continue;
    }
    const model::PerfValue* value = find_value(exact, column.name);
    const auto usual = default_of(column.name);
    if (value == nullptr && !usual) return nullptr;
    values.push_back(value != nullptr ? *value : *usual);
    if (!suits(column, values.back())) return nullptr;
  }
  return measured.bound_cost(std::move(values), std::move(places));
}

Roofline bound_roofline(const CostedOperator& measured,
                        const Key& exact,
                        const std::vector<std::string>& sizes,
                        const Peaks& peaks) {
  const CostedOperator::SizedCost cost = sized_cost(measured, exact, sizes);
  if (!cost) return nullptr;
  const std::vector<double> ones(sizes.size(), 1);
  const double flops_per_ms = peaks.flops_of(model::name_of(cost(ones).type)) / 1e3;
  const double bytes_per_ms = peaks.memory_bytes_per_s / 1e3;
  const double link_bytes_per_ms = peaks.link_bytes_per_s / 1e3;
  return [=](std::span<const double> asked) {
    const RowCost row = cost(asked);
    const auto time = [](double amount, double rate) { return rate > 0 ? amount / rate : 0; };
    return std::max({time(row.bytes, bytes_per_ms), time(row.flops, flops_per_ms),
                     time(row.link_bytes, link_bytes_per_ms)});
  };
}

}  // namespace

CostBinder table_costs(const std::vector<CostedOperator>& operators) {
  return [operators](const Key& exact, const std::vector<std::string>& sizes) {
    const CostedOperator* measured = operator_of(operators, exact);
    return measured == nullptr ? nullptr : sized_cost(*measured, exact, sizes);
  };
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
  const RooflineBinder bound = [shared, peaks](const Key& exact,
                                               const std::vector<std::string>& sizes) -> Roofline {
    const CostedOperator* measured = operator_of(*shared, exact);
    return measured == nullptr ? nullptr : bound_roofline(*measured, exact, sizes, peaks);
  };
  return {.all = bound_with(Cache::kHoldsNothing),
          .cached = bound_with(Cache::kMayHold),
          .bound = bound};
}

}  // namespace assay::store
