// What became of the cases of a plan.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collect/plan/plan.h"
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

  // Of operators, each once, whose expected cases are known.
  explicit Tally(std::vector<OperatorTally> operators) : operators_(std::move(operators)) {}

  // Of a case of the plan, once.
  void add(const store::StoredCase& one);

  // In the plan's order.
  [[nodiscard]] const std::vector<OperatorTally>& operators() const { return operators_; }

  [[nodiscard]] OperatorTally total() const;

  // By operator and reason.
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

}  // namespace assay::collect
