#include "store/answers/merge_kernels.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/text.h"

namespace assay::store {
namespace {

using Codes = std::vector<std::uint32_t>;

std::vector<double> sizes_of(const GroupedRows& grouped, std::uint32_t row) {
  const std::size_t count = grouped.sizes.size();
  const auto first = grouped.size_values.begin() + static_cast<std::ptrdiff_t>(row * count);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

bool share_a_place(const GroupedRows& grouped, const std::vector<std::size_t>& groups) {
  std::set<std::vector<double>> places;
  for (const std::size_t group : groups) {
    std::set<std::vector<double>> own;
    for (const std::uint32_t row : grouped.rows_of_group[group])
      own.insert(sizes_of(grouped, row));
    for (const auto& place : own) {
      if (!places.insert(place).second) return true;
    }
  }
  return false;
}

// The code of "A or B" in the column of kernels, added if it is new.
std::uint32_t joint_code(ExactColumn& kernels,
                         const GroupedRows& grouped,
                         const std::vector<std::size_t>& groups,
                         std::size_t column) {
  std::vector<std::string> names;
  for (const std::size_t group : groups)
    names.push_back(kernels.values[grouped.exact_of_group[group][column]]);
  std::sort(names.begin(), names.end());
  const std::string name = core::join(names, " or ");
  const auto found = std::find(kernels.values.begin(), kernels.values.end(), name);
  if (found == kernels.values.end()) {
    kernels.values.push_back(name);
    return static_cast<std::uint32_t>(kernels.values.size() - 1);
  }
  return static_cast<std::uint32_t>(found - kernels.values.begin());
}

void remove_emptied(GroupedRows& grouped) {
  std::size_t kept = 0;
  for (std::size_t group = 0; group < grouped.rows_of_group.size(); ++group) {
    if (grouped.rows_of_group[group].empty()) continue;
    if (kept != group) {
      grouped.rows_of_group[kept] = std::move(grouped.rows_of_group[group]);
      grouped.exact_of_group[kept] = std::move(grouped.exact_of_group[group]);
    }
    ++kept;
  }
  grouped.rows_of_group.resize(kept);
  grouped.exact_of_group.resize(kept);
}

// Leaves no value that no group has.
void remove_unused_values(GroupedRows& grouped, std::size_t column) {
  std::set<std::uint32_t> used;
  for (const Codes& codes : grouped.exact_of_group)
    used.insert(codes[column]);
  std::map<std::uint32_t, std::uint32_t> number_of;
  std::vector<std::string> values;
  for (const std::uint32_t code : used) {
    number_of[code] = static_cast<std::uint32_t>(values.size());
    values.push_back(grouped.exact[column].values[code]);
  }
  grouped.exact[column].values = std::move(values);
  for (Codes& codes : grouped.exact_of_group)
    codes[column] = number_of[codes[column]];
}

}  // namespace

void merge_kernels(GroupedRows& grouped) {
  const auto kernels =
      std::find_if(grouped.exact.begin(), grouped.exact.end(),
                   [](const ExactColumn& column) { return column.name == "kernel_source"; });
  if (kernels == grouped.exact.end() || kernels->values.size() < 2) return;
  const auto column = static_cast<std::size_t>(kernels - grouped.exact.begin());
  std::map<Codes, std::vector<std::size_t>> alike;
  for (std::size_t group = 0; group < grouped.exact_of_group.size(); ++group) {
    Codes others = grouped.exact_of_group[group];
    others[column] = 0;
    alike[others].push_back(group);
  }
  for (const auto& [others, groups] : alike) {
    if (groups.size() < 2 || share_a_place(grouped, groups)) continue;
    const std::uint32_t code = joint_code(*kernels, grouped, groups, column);
    auto& rows = grouped.rows_of_group[groups.front()];
    for (std::size_t i = 1; i < groups.size(); ++i) {
      auto& more = grouped.rows_of_group[groups[i]];
      rows.insert(rows.end(), more.begin(), more.end());
      more.clear();
    }
    std::sort(rows.begin(), rows.end());
    grouped.exact_of_group[groups.front()][column] = code;
  }
  remove_emptied(grouped);
  remove_unused_values(grouped, column);
}

}  // namespace assay::store
