#include "trace/compare/collective_figures.h"

#include <cmath>
#include <optional>
#include <set>

#include "core/text.h"
#include "trace/compare/rows.h"

namespace assay::trace {
namespace {

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

int run_number(const model::Cell& cell) {
  const auto* run = std::get_if<std::int64_t>(&cell);
  return run == nullptr ? 0 : static_cast<int>(*run);
}

}  // namespace

std::vector<RunValue> instance_values(const model::Table* table,
                                      const RowNumbers& rows,
                                      std::string_view column) {
  std::vector<RunValue> values;
  const auto position = table == nullptr ? std::nullopt : table->column(column);
  if (!position) return values;
  const auto run = table->column(kRepeatColumn);
  values.reserve(rows.size());
  for (const std::size_t row : rows) {
    const double value = model::number(table->at(row, *position));
    if (std::isnan(value)) continue;
    values.push_back({.run = run ? run_number(table->at(row, *run)) : 0, .value = value});
  }
  return values;
}

std::vector<double> plain_values(const model::Table* table,
                                 const RowNumbers& rows,
                                 std::string_view column) {
  return table == nullptr ? std::vector<double>{} : numbers(*table, rows, column);
}

std::vector<RunValue> bandwidths_gbps(const model::Table* table,
                                      const RowNumbers& rows,
                                      std::string_view quantity) {
  const std::string name(quantity);
  std::vector<RunValue> values = instance_values(table, rows, name + " (GB/s)");
  if (table == nullptr || table->column(name + " (GiB/s)")) return values;
  for (RunValue& value : values)
    value.value *= kGibibyte / 1e9;
  return values;
}

model::Cell distinct_values(const model::Table* table,
                            const RowNumbers& rows,
                            std::string_view column) {
  if (table == nullptr) return {};
  const auto position = table->column(column);
  if (!position) return {};
  std::set<model::Cell> values;
  for (const std::size_t row : rows)
    values.insert(normalized(table->at(row, *position)));
  values.erase(model::Cell{});
  if (values.empty()) return {};
  if (values.size() == 1) return *values.begin();
  std::vector<std::string> texts;
  for (const model::Cell& value : values)
    texts.push_back(model::text(value));
  return core::join(texts, ", ");
}

}  // namespace assay::trace
