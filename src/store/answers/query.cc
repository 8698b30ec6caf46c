#include "store/answers/query.h"

#include <algorithm>

#include "store/answers/matcher.h"

namespace assay::store {
namespace {

std::optional<MedianInterval> interval_of(const WorkRows& rows,
                                          std::size_t family,
                                          const WorkEstimate& estimate) {
  if (!estimate.is_measured() || rows.intervals.empty()) return std::nullopt;
  const RowInterval& row = rows.intervals[rows.begins[family] + estimate.low];
  if (row.samples == 0) return std::nullopt;
  return MedianInterval{.low = row.low, .high = row.high, .samples = row.samples};
}

}  // namespace

core::Result<QueryResult> query(const WorkIndex& index,
                                const std::vector<Condition>& conditions,
                                Beyond beyond) {
  const WorkRows& rows = index.rows();
  Matcher matcher(rows);
  for (const Condition& condition : conditions)
    ASSAY_TRY(matcher.take(condition));
  ASSAY_TRY(matcher.settle());
  QueryResult result{.open_sizes = matcher.open_sizes()};
  for (const std::size_t number : matcher.families()) {
    const Family& family = index.family(number);
    for (const std::vector<double>& sizes : matcher.sizes(number)) {
      const WorkEstimate estimate = family.at(sizes, beyond);
      if (estimate.refused != Refused::kNo) {
        result.refused.push_back({number, sizes, family.refusal(estimate, sizes)});
      } else {
        result.answers.push_back({.family = number,
                                  .sizes = sizes,
                                  .estimate = estimate,
                                  .interval = interval_of(rows, number, estimate)});
      }
    }
  }
  if (result.answers.empty() && result.refused.empty()) return matcher.no_family(conditions);
  return result;
}

}  // namespace assay::store
