#include "store/answers/query.h"

#include <algorithm>
#include <span>

#include "store/answers/answers_table.h"
#include "store/answers/matcher.h"

namespace assay::store {
namespace {

std::optional<MedianInterval> interval_of(const WorkRows& rows,
                                          std::size_t family,
                                          const WorkEstimate& estimate) {
  if (estimate.refused != Refused::kNo || !estimate.is_measured() || rows.intervals.empty())
    return std::nullopt;
  const RowInterval& row = rows.intervals[rows.begins[family] + estimate.low];
  if (row.samples == 0) return std::nullopt;
  return MedianInterval{.low = row.low, .high = row.high, .samples = row.samples};
}

std::string throttled_of(const WorkIndex& index,
                         std::size_t family,
                         std::span<const double> sizes,
                         const WorkEstimate& estimate) {
  const WorkRows& rows = index.rows();
  if (estimate.refused != Refused::kNo || rows.throttled.empty()) return "";
  const auto name_of = [&](std::uint32_t row) -> std::string {
    if (rows.throttled[rows.begins[family] + row] == 0) return "";
    return estimate.is_measured() ? "this row" : index.family(family).place(row, sizes);
  };
  const std::string low = name_of(estimate.low);
  if (estimate.is_measured() || estimate.high == estimate.low) return low;
  const std::string high = name_of(estimate.high);
  return low + (low.empty() || high.empty() ? "" : ", ") + high;
}

// Leaves out values that the table does not have: they are no fault of the question.
core::Result<Matcher> checked(const WorkIndex& index,
                              const std::vector<Condition>& conditions,
                              ColumnShown shown) {
  Matcher matcher(index.rows(), shown);
  for (const Condition& condition : conditions) {
    ASSAY_TRY(matcher.check(condition));
    static_cast<void>(matcher.take(condition));
  }
  return matcher;
}

}  // namespace

core::Status check_conditions(const WorkIndex& index,
                              const std::vector<Condition>& conditions,
                              ColumnShown shown) {
  static_cast<void>(ASSAY_TRY(checked(index, conditions, shown)));
  return {};
}

core::Status check_question(const WorkIndex& index,
                            const std::vector<Condition>& conditions,
                            ColumnShown shown) {
  return ASSAY_TRY(checked(index, conditions, shown)).settle();
}

Answer answer_of(const WorkIndex& index,
                 std::size_t family,
                 std::vector<double> sizes,
                 Beyond beyond) {
  const WorkEstimate estimate = index.family(family).at(sizes, beyond);
  std::string throttled = throttled_of(index, family, sizes, estimate);
  return {.family = family,
          .sizes = std::move(sizes),
          .estimate = estimate,
          .interval = interval_of(index.rows(), family, estimate),
          .throttled = std::move(throttled)};
}

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
    for (std::vector<double>& sizes : matcher.sizes(number)) {
      Answer answer = answer_of(index, number, std::move(sizes), beyond);
      if (answer.estimate.refused == Refused::kNo) {
        result.answers.push_back(std::move(answer));
        continue;
      }
      std::string reason = index.family(number).refusal(answer.estimate, answer.sizes);
      const bool is_final = answer.estimate.refused == Refused::kImpossible;
      result.refused.push_back({number, std::move(answer.sizes), std::move(reason), is_final});
    }
  }
  if (result.answers.empty() && result.refused.empty()) return matcher.no_family(conditions);
  return result;
}

}  // namespace assay::store
