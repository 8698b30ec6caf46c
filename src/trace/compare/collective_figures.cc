#include "trace/compare/collective_figures.h"

#include <set>

#include "core/text.h"
#include "trace/compare/rows.h"

namespace assay::trace {
namespace {

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

}  // namespace

std::vector<double> instance_values(const model::Table* table,
                                    const RowNumbers& rows,
                                    std::string_view column) {
  return table == nullptr ? std::vector<double>{} : numbers(*table, rows, column);
}

std::vector<double> bandwidths_gbps(const model::Table* table,
                                    const RowNumbers& rows,
                                    std::string_view quantity) {
  const std::string name(quantity);
  std::vector<double> values = instance_values(table, rows, name + " (GB/s)");
  if (table == nullptr || table->column(name + " (GiB/s)")) return values;
  for (double& value : values)
    value *= kGibibyte / 1e9;
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
