#include "trace/compare/ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "core/text.h"
#include "trace/collectives/metadata.h"

namespace assay::trace {
namespace {

std::set<int> without(const std::set<int>& ranks, const std::set<int>& others) {
  std::set<int> only;
  std::set_difference(ranks.begin(), ranks.end(), others.begin(), others.end(),
                      std::inserter(only, only.end()));
  return only;
}

}  // namespace

std::set<int> ranks_of(const Configuration& side) {
  std::set<int> ranks;
  for (const RankReport& report : side.ranks)
    ranks.insert(report.rank);
  return ranks;
}

std::string different_ranks(const NamedRanks& baseline, const NamedRanks& test) {
  std::vector<std::string> texts;
  const auto add = [&](const NamedRanks& side, const NamedRanks& other) {
    const std::set<int> only = without(side.ranks, other.ranks);
    if (only.empty()) return;
    texts.push_back(fmt::format("{} {} only of {}", only.size() == 1 ? "rank" : "ranks",
                                core::join(std::vector<int>(only.begin(), only.end()), ", "),
                                side.label));
  };
  add(baseline, test);
  add(test, baseline);
  return core::join(texts, "; ");
}

std::string different_ranks(const Sides& sides) {
  return different_ranks({sides.baseline.label, ranks_of(sides.baseline)},
                         {sides.test.label, ranks_of(sides.test)});
}

UnequalGroups::UnequalGroups(const Sides& sides) {
  const std::set<int> baseline = ranks_of(sides.baseline);
  const std::set<int> test = ranks_of(sides.test);
  if (baseline.empty() || test.empty()) return;
  of_one_side_ = without(baseline, test);
  of_one_side_.merge(without(test, baseline));
}

bool UnequalGroups::hold(const SheetPair& sheets, const JoinedRows& rows) const {
  if (of_one_side_.empty() || rows.baseline.empty() || rows.test.empty()) return false;
  return hold(sheets.baseline, rows.baseline) || hold(sheets.test, rows.test);
}

bool UnequalGroups::hold(const model::Table* table, const RowNumbers& rows) const {
  const auto column = table->column(kGroupRanksColumn);
  return std::any_of(rows.begin(), rows.end(), [&](std::size_t row) {
    const std::vector<std::int64_t> ranks =
        column ? collectives::parse_integers(model::text(table->at(row, *column)))
               : std::vector<std::int64_t>{};
    return ranks.empty() || std::any_of(ranks.begin(), ranks.end(), [&](std::int64_t rank) {
             return of_one_side_.contains(static_cast<int>(rank));
           });
  });
}

}  // namespace assay::trace
