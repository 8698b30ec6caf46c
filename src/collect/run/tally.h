// The result of a collection in numbers: the outcomes of its cases and the time that each part
// took.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collect/plan/plan.h"
#include "collect/worker/protocol.h"
#include "model/table.h"
#include "store/database/store.h"

namespace assay::collect {

struct OperatorTally {
  std::string name;
  std::int64_t expected = 0;
  std::int64_t measured = 0;
  std::int64_t skipped = 0;
  std::int64_t failed = 0;

  [[nodiscard]] std::int64_t missing() const { return expected - measured - skipped - failed; }
};

class Tally {
 public:
  explicit Tally(const Plan& plan);

  // The operators, each once, with their numbers of expected cases.
  explicit Tally(std::vector<OperatorTally> operators) : operators_(std::move(operators)) {}

  // Counts a case of the plan; each case is added once.
  void add(const store::StoredCase& one);

  // The counts in the order of the plan.
  [[nodiscard]] const std::vector<OperatorTally>& operators() const { return operators_; }

  [[nodiscard]] OperatorTally total() const;

  // Counts by operator and reason.
  using Reasons = std::map<std::pair<std::string, std::string>, std::int64_t>;

  [[nodiscard]] const Reasons& skips() const { return skips_; }

  [[nodiscard]] const std::vector<store::StoredCase>& failures() const { return failures_; }

 private:
  std::vector<OperatorTally> operators_;
  Reasons skips_;
  std::vector<store::StoredCase> failures_;
};

// kSkipped excuses operators whose cases were all skipped, as long as some other case was measured:
// where nobody named operators, one that this device does not have is no failure.
enum class Excused : std::uint8_t { kNone, kSkipped };

// The names of the operators that have no measured case and are not excused.
std::vector<std::string> operators_without_row(const Tally& tally, Excused excused);

// The time of a measured case.
struct CaseTime {
  std::string operator_name;
  double wall_ms = 0;  // from the end of the worker's previous case to the end of this one
  CaseTimes parts = {};

  [[nodiscard]] double overhead_ms() const { return wall_ms - parts.kernels_ms; }
};

struct TimeUse {
  std::string operator_name;  // or "all"
  std::int64_t cases = 0;
  double wall_seconds = 0;
  double kernel_seconds = 0;
  double prepare_seconds = 0;
  double check_seconds = 0;
  double rest_seconds = 0;
  double overhead_median_ms = 0;  // per case
  double overhead_p90_ms = 0;

  [[nodiscard]] double share() const;  // kernels' part of the wall time
};

// The time of each operator, in the order of their first cases, then of "all" if there are several.
std::vector<TimeUse> time_use(const std::vector<CaseTime>& times);

model::Table time_table(const std::vector<TimeUse>& uses);

}  // namespace assay::collect
