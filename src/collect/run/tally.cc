#include "collect/run/tally.h"

#include <algorithm>

#include "core/check.h"
#include "core/statistics.h"

namespace assay::collect {
namespace {

OperatorTally* find(std::vector<OperatorTally>& tallies, const std::string& name) {
  const auto found = std::find_if(tallies.begin(), tallies.end(),
                                  [&](const OperatorTally& one) { return one.name == name; });
  return found == tallies.end() ? nullptr : &*found;
}

TimeUse use_of(const std::string& name, const std::vector<CaseTime>& times) {
  TimeUse use{.operator_name = name, .cases = static_cast<std::int64_t>(times.size())};
  std::vector<double> overheads_ms;
  for (const CaseTime& one : times) {
    use.wall_seconds += one.wall_ms / 1e3;
    use.kernel_seconds += one.parts.kernels_ms / 1e3;
    use.prepare_seconds += one.parts.prepare_ms / 1e3;
    use.check_seconds += one.parts.check_ms / 1e3;
    use.rest_seconds += one.parts.rest_ms / 1e3;
    overheads_ms.push_back(one.overhead_ms());
  }
  use.overhead_median_ms = core::median(overheads_ms);
  use.overhead_p90_ms = core::quantile(overheads_ms, 0.9);
  return use;
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

double TimeUse::share() const {
  return wall_seconds > 0 ? kernel_seconds / wall_seconds : 0;
}

std::vector<TimeUse> time_use(const std::vector<CaseTime>& times) {
  std::vector<std::string> names;
  for (const CaseTime& one : times) {
    if (std::find(names.begin(), names.end(), one.operator_name) == names.end()) {
      names.push_back(one.operator_name);
    }
  }
  std::vector<TimeUse> uses;
  for (const std::string& name : names) {
    std::vector<CaseTime> own;
    std::copy_if(times.begin(), times.end(), std::back_inserter(own),
                 [&](const CaseTime& one) { return one.operator_name == name; });
    uses.push_back(use_of(name, own));
  }
  if (uses.size() > 1) uses.push_back(use_of("all", times));
  return uses;
}

model::Table time_table(const std::vector<TimeUse>& uses) {
  model::Table table{.name = "time",
                     .title = "What the workers' time went to",
                     .columns = {{.name = "operator"},
                                 {.name = "cases"},
                                 {.name = "time", .unit = "s"},
                                 {.name = "kernels", .unit = "s"},
                                 {.name = "kernels_share", .unit = "%"},
                                 {.name = "prepare", .unit = "s"},
                                 {.name = "check", .unit = "s"},
                                 {.name = "rest", .unit = "s"},
                                 {.name = "overhead_median", .unit = "ms"},
                                 {.name = "overhead_p90", .unit = "ms"}}};
  for (const TimeUse& use : uses) {
    table.add_row({use.operator_name, use.cases, use.wall_seconds, use.kernel_seconds,
                   use.share() * 100, use.prepare_seconds, use.check_seconds, use.rest_seconds,
                   use.overhead_median_ms, use.overhead_p90_ms});
  }
  table.notes.emplace_back(
      "kernels: their launches, for warming up and for samples, kept or not. prepare: data, and "
      "trials of the kernels to choose from. check: comparing with a reference. rest: waiting for "
      "the clock after kernels that slowed it. overhead: what a case takes besides its kernels.");
  return table;
}

}  // namespace assay::collect
