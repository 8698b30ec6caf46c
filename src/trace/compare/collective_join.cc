#include "trace/compare/collective_join.h"

#include <map>
#include <utility>

namespace assay::trace {
namespace {

constexpr const char* kGroupName = "Process Group Name";

bool has_column(const model::Table* table, const char* name) {
  return table != nullptr && table->column(name).has_value();
}

bool same_groups(const SheetPair& sheets) {
  const std::vector<std::string> identity = {kGroupName, "Process Group Ranks"};
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

}  // namespace assay::trace
