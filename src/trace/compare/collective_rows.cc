#include "trace/compare/collective_rows.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/text.h"

namespace assay::trace {
namespace {

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

int run_number(const model::Cell& cell) {
  const auto* run = std::get_if<std::int64_t>(&cell);
  return run == nullptr ? 0 : static_cast<int>(*run);
}

constexpr const char* kGroupName = "Process Group Name";

bool has_column(const model::Table* table, const char* name) {
  return table != nullptr && table->column(name).has_value();
}

bool same_groups(const SheetPair& sheets) {
  const std::vector<std::string> identity = {kGroupName, kGroupRanksColumn};
  const RowGroups baseline = group_rows(sheets.baseline, identity, MissingKeys::kKeep);
  const RowGroups test = group_rows(sheets.test, identity, MissingKeys::kKeep);
  if (baseline.size() != test.size()) return false;
  for (const auto& [group, rows] : baseline)
    if (test.count(group) == 0) return false;
  return true;
}

}  // namespace

SheetPair sheet_pair(const Sides& sides, const std::string& name) {
  return {.baseline = sides.baseline.collectives.find(name),
          .test = sides.test.collectives.find(name)};
}

std::vector<JoinedRows> outer_join(const SheetPair& sheets, const std::vector<std::string>& keys) {
  std::map<RowKey, JoinedRows> joined;
  for (auto& [key, rows] : group_rows(sheets.baseline, keys, MissingKeys::kKeep))
    joined[key].baseline = rows;
  for (auto& [key, rows] : group_rows(sheets.test, keys, MissingKeys::kKeep))
    joined[key].test = rows;
  std::vector<JoinedRows> result;
  result.reserve(joined.size());
  for (auto& [key, rows] : joined) {
    rows.key = key;
    result.push_back(std::move(rows));
  }
  return result;
}

std::vector<std::string> with_process_group(const SheetPair& sheets,
                                            std::vector<std::string> keys) {
  if (has_column(sheets.baseline, kGroupName) && has_column(sheets.test, kGroupName) &&
      same_groups(sheets))
    keys.insert(keys.begin(), kGroupName);
  return keys;
}

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
