#include <algorithm>
#include <map>
#include <set>

#include "trace/arguments.h"
#include "trace/sheet.h"
#include "trace/sheets/operator_table.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Column;
using model::Table;

struct OperatorSum {
  std::string name;
  double direct_us = 0;
  double subtree_us = 0;
  std::int64_t count = 0;
  std::set<std::string_view> categories = {};
};

// Sums the rows by the text that `key` returns, longest direct time first.
template <class Key>
std::vector<OperatorSum> sums_by(const std::vector<OperatorRow>& rows, const Key& key) {
  std::map<std::string, std::size_t, std::less<>> index;
  std::vector<OperatorSum> sums;
  for (const OperatorRow& row : rows) {
    const auto [found, inserted] = index.try_emplace(std::string(key(row)), sums.size());
    if (inserted) sums.push_back({found->first});
    OperatorSum& sum = sums[found->second];
    sum.direct_us += row.launcher->direct_us;
    sum.subtree_us += row.launcher->subtree_us;
    ++sum.count;
    sum.categories.insert(row.category);
  }
  std::stable_sort(sums.begin(), sums.end(), [](const OperatorSum& a, const OperatorSum& b) {
    return a.direct_us > b.direct_us;
  });
  return sums;
}

double total_direct(const std::vector<OperatorSum>& sums) {
  double total = 0;
  for (const OperatorSum& sum : sums)
    total += sum.direct_us;
  return total;
}

std::string categories_repr(const std::set<std::string_view>& categories) {
  ArgumentList list;
  for (const std::string_view category : categories)
    list.push_back({std::string(category)});
  return python_repr(list, Brackets::kList);
}

Table by_category(const std::vector<OperatorRow>& rows) {
  Table table{"ops_summary_by_category",
              "GPU time by category of the launching operator",
              {{"op category"},
               {"Count"},
               {"total_direct_kernel_time_ms", "ms", Better::kLower},
               {"Percentage (%)", "%"},
               {"Cumulative Percentage (%)", "%"}}};
  const auto sums = sums_by(rows, [](const OperatorRow& row) { return row.category; });
  const double total = total_direct(sums);
  double cumulative = 0;
  for (const OperatorSum& sum : sums) {
    cumulative += percent(sum.direct_us, total);
    table.add_row(
        {sum.name, sum.count, sum.direct_us / 1000, percent(sum.direct_us, total), cumulative});
  }
  return table;
}

Table by_name(const RankAnalysis& rank, const std::vector<OperatorRow>& rows) {
  Table table{"ops_summary",
              "GPU time by launching operator",
              {{"name"},
               {"total_direct_kernel_time_sum", "µs", Better::kLower},
               {"total_subtree_kernel_time_sum", "µs", Better::kLower},
               {"total_direct_kernel_time_ms", "ms", Better::kLower},
               {"total_subtree_kernel_time_ms", "ms", Better::kLower},
               {"Count"},
               {"Categories"},
               {"Percentage (%)", "%"},
               {"Cumulative Percentage (%)", "%"}}};
  const auto sums =
      sums_by(rows, [&](const OperatorRow& row) { return rank.trace->text(row.name); });
  const double total = total_direct(sums);
  double cumulative = 0;
  for (const OperatorSum& sum : sums) {
    cumulative += percent(sum.direct_us, total);
    table.add_row({sum.name, sum.direct_us, sum.subtree_us, sum.direct_us / 1000,
                   sum.subtree_us / 1000, sum.count, categories_repr(sum.categories),
                   percent(sum.direct_us, total), cumulative});
  }
  return table;
}

std::vector<Table> build_ops_summary(const RankAnalysis& rank) {
  const std::vector<OperatorRow> rows = operator_rows(rank);
  if (rows.empty()) return {};
  return {by_category(rows), by_name(rank, rows)};
}

const SheetSpec kOpsSummary{.name = "ops_summary", .position = 200, .build = build_ops_summary};
ASSAY_REGISTER(SheetSpec, kOpsSummary);

}  // namespace
}  // namespace assay::trace
