// Which cases a collection measures, in which order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collect/plan/operator.h"

namespace assay::collect {

// kMixed: large cases among small ones, so that a GPU does not run into its power limit by many
// large ones in a row; the same in each run.
enum class Order : std::uint8_t { kMixed, kShuffled };

struct PlanOptions {
  std::vector<const Operator*> operators = {};
  Grid grid = Grid::kCommon;
  std::vector<AxisOverride> overrides = {};    // when there is one operator
  std::vector<std::string> case_filters = {};  // texts; a case whose id has any of them stays
  std::optional<std::int64_t> limit = {};      // cases of each operator: the first, the largest
  Order order = Order::kMixed;                 // within each operator; shuffled before the limit
  std::uint64_t seed = 42;
  std::int64_t check_every = 100;  // compare every Nth case with a reference, and the first few
};

// kAll: one worker that owns all GPUs.
enum class Devices : std::uint8_t { kOne, kAll };

struct PlannedCase {
  std::string operator_name;
  std::string id;    // Case::id()
  std::string json;  // as a request has it
  bool check = false;
  Devices devices = Devices::kOne;
};

struct Plan {
  std::vector<PlannedCase> cases;  // no id twice
  std::string hash;                // of all ids, whatever their order
};

Plan make_plan(const PlanOptions& options);

// Of the cases of one operator: those that the filters take, each once, in order, up to the limit;
// and which of them are checked.
std::vector<PlannedCase> select_cases(std::vector<PlannedCase> all, const PlanOptions& options);
PlannedCase planned_case(const Case& one);

// 16 hexadecimal digits.
std::string plan_hash(const std::vector<PlannedCase>& cases);

}  // namespace assay::collect
