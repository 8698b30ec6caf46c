#include <algorithm>
#include <map>
#include <set>
#include <utility>

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
  bool recomputes;
  double direct_us = 0;
  double subtree_us = 0;
  std::int64_t count = 0;
  std::set<std::string_view> categories = {};
};

// Sums the rows by the text that `key` returns, and by whether they recompute, longest direct time
// first.
template <class Key>
std::vector<OperatorSum> sums_by(const RankAnalysis& rank,
                                 const std::vector<OperatorRow>& rows,
                                 const Key& key) {
  std::map<std::pair<std::string, bool>, std::size_t> index;
  std::vector<OperatorSum> sums;
  for (const OperatorRow& row : rows) {
    const bool recomputes = rank.recomputes(row.launcher->node);
    const auto [found, inserted] =
        index.try_emplace(std::pair(std::string(key(row)), recomputes), sums.size());
    if (inserted) sums.push_back({found->first.first, recomputes});
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

// Whether a group recomputes is the second column, where that is asked for.
void add_recompute_column(const RankAnalysis& rank, Table& table) {
  if (rank.options.detect_recompute)
    table.columns.insert(table.columns.begin() + 1, recompute_column());
}

void add_sum(const RankAnalysis& rank,
             const OperatorSum& sum,
             std::vector<model::Cell> row,
             Table& table) {
  if (rank.options.detect_recompute) row.insert(row.begin() + 1, model::Cell{sum.recomputes});
  table.add_row(std::move(row));
}

Table by_category(const RankAnalysis& rank, const std::vector<OperatorRow>& rows) {
  Table table{"ops_summary_by_category",
              "GPU time by category of the launching operator",
              {{"op category"},
               {"Count"},
               {"total_direct_kernel_time_ms", "ms", Better::kLower},
               {"Percentage (%)", "%"},
               {"Cumulative Percentage (%)", "%"}}};
  add_recompute_column(rank, table);
  const auto sums = sums_by(rank, rows, [](const OperatorRow& row) { return row.category; });
  const double total = total_direct(sums);
  double cumulative = 0;
  for (const OperatorSum& sum : sums) {
    cumulative += percent(sum.direct_us, total);
    add_sum(rank, sum,
            {sum.name, sum.count, sum.direct_us / 1000, percent(sum.direct_us, total), cumulative},
            table);
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
  add_recompute_column(rank, table);
  const auto sums =
      sums_by(rank, rows, [&](const OperatorRow& row) { return rank.trace->text(row.name); });
  const double total = total_direct(sums);
  double cumulative = 0;
  for (const OperatorSum& sum : sums) {
    cumulative += percent(sum.direct_us, total);
    add_sum(rank, sum,
            {sum.name, sum.direct_us, sum.subtree_us, sum.direct_us / 1000, sum.subtree_us / 1000,
             sum.count, categories_repr(sum.categories), percent(sum.direct_us, total), cumulative},
            table);
  }
  return table;
}

std::vector<Table> build_ops_summary(const RankAnalysis& rank) {
  const std::vector<OperatorRow> rows = operator_rows(rank);
  if (rows.empty()) return {};
  return {by_category(rank, rows), by_name(rank, rows)};
}

const SheetSpec kOpsSummary{.name = "ops_summary", .position = 200, .build = build_ops_summary};
ASSAY_REGISTER(SheetSpec, kOpsSummary);

}  // namespace
}  // namespace assay::trace
