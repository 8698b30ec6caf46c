#include "trace/compare/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::trace {
namespace {

// Above 2^53, doubles cannot represent every integer.
constexpr double kExactIntegers = 9007199254740992.0;

bool is_empty(const model::Cell& cell) {
  return std::holds_alternative<std::monostate>(cell);
}

}  // namespace

model::Cell normalized(const model::Cell& cell) {
  const double* value = std::get_if<double>(&cell);
  if (value == nullptr) return cell;
  if (std::isnan(*value)) return std::monostate{};
  if (std::fabs(*value) > kExactIntegers || *value != std::floor(*value)) return cell;
  return static_cast<std::int64_t>(*value);
}

RowGroups group_rows(const model::Table* table,
                     const std::vector<std::string>& key_columns,
                     MissingKeys missing) {
  RowGroups groups;
  if (table == nullptr) return groups;
  std::vector<std::optional<std::size_t>> positions;
  positions.reserve(key_columns.size());
  for (const std::string& name : key_columns)
    positions.push_back(table->column(name));
  for (std::size_t row = 0; row < table->row_count(); ++row) {
    RowKey key;
    key.reserve(positions.size());
    for (const auto& position : positions)
      key.push_back(position ? normalized(table->at(row, *position)) : model::Cell{});
    if (missing == MissingKeys::kDrop && std::any_of(key.begin(), key.end(), is_empty)) continue;
    groups[std::move(key)].push_back(row);
  }
  return groups;
}

double number_at(const model::Table& table, std::size_t row, std::string_view column) {
  const auto position = table.column(column);
  return position ? model::number(table.at(row, *position))
                  : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> numbers(const model::Table& table,
                            const std::vector<std::size_t>& rows,
                            std::string_view column) {
  std::vector<double> values;
  const auto position = table.column(column);
  if (!position) return values;
  values.reserve(rows.size());
  for (const std::size_t row : rows) {
    const double value = model::number(table.at(row, *position));
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

}  // namespace assay::trace
