// Which cases a collection measures, and in which order.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collect/plan/operator.h"

namespace assay::collect {

// kMixed: large cases among small ones, in the same order in each run, so that a GPU does not run
// into its power limit by many large cases in a row.
enum class Order : std::uint8_t { kMixed, kShuffled };

// Ids of cases that an earlier collection measured.
struct MeasuredCases {
  std::unordered_set<std::string> ids = {};
  std::unordered_set<std::string> with_power = {};  // of these
};

struct PlanOptions {
  std::vector<const Operator*> operators = {};
  Grid grid = Grid::kCommon;
  std::vector<AxisOverride> overrides = {};    // only with one operator
  std::vector<std::string> case_filters = {};  // a case whose id has any of these texts stays
  MeasuredCases measured = {};                 // cases to leave out
  // Energy is measured of every Nth case along each size, among those that differ only in sizes,
  // and of the largest; unset: of none. A measured case without power that is to have it stays.
  std::optional<std::int64_t> power_every = {};
  std::optional<std::int64_t> limit = {};  // of cases of each operator; the largest come first
  Order order = Order::kMixed;  // within each operator; kShuffled applies before the limit
  std::uint64_t seed = 42;
  std::int64_t check_every = 100;  // every Nth case and the first few are compared with a reference
};

// kAll: the case needs the one worker that owns all GPUs.
enum class Devices : std::uint8_t { kOne, kAll };

struct PlannedCase {
  std::string operator_name;
  std::string id;    // Case::id()
  std::string json;  // as a worker's request has it
  bool check = false;
  bool measure_power = false;
  Devices devices = Devices::kOne;
};

struct Plan {
  std::vector<PlannedCase> cases;  // no id twice
  std::string hash;                // of all ids; their order does not matter
};

Plan make_plan(const PlanOptions& options);

// kByName: the user asked for these operators; kAll: nobody chose among them.
enum class Chosen : std::uint8_t { kByName, kAll };

// Leaves the collectives, which are all that an MPI job measures: it has a rank on each GPU. Error:
// an operator that was chosen by name is no collective.
core::Status keep_collectives(std::vector<const Operator*>& operators, Chosen chosen);

// Selects among the cases of one operator: those that are not measured and that the filters take,
// each once, in the order and up to the limit of the options. Sets which of them are checked, and
// which have their energy measured.
std::vector<PlannedCase> select_cases(std::vector<PlannedCase> all, const PlanOptions& options);
PlannedCase planned_case(const Case& point);

// Puts items into a random order. Unlike std::shuffle, it gives the same order with every standard
// library.
template <class Item>
void shuffle(std::vector<Item>& items, std::mt19937_64& random) {
  for (std::size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[random() % i]);
}

// 16 hexadecimal digits.
std::string plan_hash(const std::vector<PlannedCase>& cases);

}  // namespace assay::collect
