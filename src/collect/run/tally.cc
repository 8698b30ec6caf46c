#include "collect/run/tally.h"

#include <algorithm>

#include "core/check.h"

namespace assay::collect {
namespace {

OperatorTally* find(std::vector<OperatorTally>& tallies, const std::string& name) {
  const auto found = std::find_if(tallies.begin(), tallies.end(),
                                  [&](const OperatorTally& one) { return one.name == name; });
  return found == tallies.end() ? nullptr : &*found;
}

}  // namespace

Tally::Tally(const Plan& plan) {
  for (const PlannedCase& one : plan.cases) {
    if (find(operators_, one.operator_name) == nullptr) {
      operators_.push_back({.name = one.operator_name});
    }
    ++find(operators_, one.operator_name)->expected;
  }
}

void Tally::add(const store::StoredCase& one) {
  OperatorTally* tally = find(operators_, one.operator_name);
  ASSAY_CHECK(tally != nullptr, "a case of an operator that is not in the plan");
  switch (one.outcome) {
    case store::CaseOutcome::kMeasured:
      ++tally->measured;
      break;
    case store::CaseOutcome::kSkipped:
      ++tally->skipped;
      ++skips_[{one.operator_name, one.reason}];
      break;
    case store::CaseOutcome::kFailed:
      ++tally->failed;
      failures_.push_back(one);
      break;
  }
}

OperatorTally Tally::total() const {
  OperatorTally total{.name = "all"};
  for (const OperatorTally& one : operators_) {
    total.expected += one.expected;
    total.measured += one.measured;
    total.skipped += one.skipped;
    total.failed += one.failed;
  }
  return total;
}

std::vector<std::string> operators_without_row(const Tally& tally, Excused excused) {
  const bool excuses_skips = excused == Excused::kSkipped && tally.total().measured > 0;
  std::vector<std::string> names;
  for (const OperatorTally& counts : tally.operators()) {
    const bool is_excused = excuses_skips && counts.skipped == counts.expected;
    if (counts.measured == 0 && !is_excused) names.push_back(counts.name);
  }
  return names;
}

}  // namespace assay::collect
