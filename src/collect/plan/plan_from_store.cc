#include "collect/plan/plan_from_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collect/plan/run_record.h"
#include "core/counted.h"
#include "store/answers/table_index.h"

namespace assay::collect {
namespace {

using ColumnTexts = std::map<std::string, std::string>;  // values by column, as ids have them

// The value of the column framework in the run's rows.
std::string framework_of(const store::Run& run) {
  std::string backend = fact_of(recorded_settings(run), "--backend");
  return backend.empty() ? fact_of(recorded_device(run), "framework") : backend;
}

std::string operator_of(const std::string& id) {
  return id.substr(0, id.find(' '));
}

using Operators = std::vector<const Operator*>;

// The contents of one device's collections: the ids of their cases, and the operators that wrote
// the rows, by table and op_name.
struct Known {
  std::unordered_set<std::string> ids;
  std::map<std::string, std::map<std::string, std::set<std::string>>> names;
};

core::Result<Known> known_of(const store::Store& store,
                             std::int64_t last_run,
                             const std::string& device) {
  Known known;
  for (const store::StoredRun& earlier : ASSAY_TRY(store.runs())) {
    const store::Run& run = earlier.run;
    if (run.kind != kCollectRun || earlier.id > last_run || run.device != device) continue;
    for (const store::StoredCase& stored : ASSAY_TRY(store.cases(earlier.id)))
      known.ids.insert(stored.id);
    for (const store::StoredRow& row : ASSAY_TRY(store.rows(earlier.id)))
      known.names[row.table][row.op_name].insert(operator_of(row.case_id));
  }
  return known;
}

std::string whole_text(double size) {
  return std::to_string(std::llround(size));
}

ColumnTexts columns_of(const store::TableIndex& index, const store::HeldOutPoint& point) {
  const store::Group& group = index.groups()[point.group];
  ColumnTexts columns;
  for (std::size_t i = 0; i < index.exact_columns().size(); ++i)
    columns[index.exact_columns()[i].name] = index.exact_value(group, i);
  const auto sizes = group.surface.grid().sizes_of(point.position);
  for (std::size_t i = 0; i < index.size_columns().size(); ++i)
    columns[index.size_columns()[i]] = whole_text(sizes[i]);
  return columns;
}

// The case of an operator that has these values. std::nullopt: its axes are others, or do not take
// the values.
std::optional<Case> case_with(const Operator& op, const ColumnTexts& columns) {
  std::string id = op.name;
  for (const Axis& axis : op.axes) {
    const auto found = columns.find(axis.column);
    if (found == columns.end()) return std::nullopt;
    const bool follows = found->second == store::kAsHeads;
    const std::string& value = follows ? columns.at("num_heads") : found->second;
    id += fmt::format(" {}={}", axis.column, value);
  }
  auto known = case_of(id);
  if (!known.ok()) return std::nullopt;
  return std::move(known).value();
}

class Refiner {
 public:
  Refiner(Known known, double limit) : known_(std::move(known)), limit_(limit) {}

  // `operators` are by op_name.
  void add_table(const store::TableIndex& index,
                 const std::map<std::string, Operators>& operators) {
    for (std::size_t axis = 0; axis < index.size_columns().size(); ++axis) {
      for (const store::HeldOutPoint& point : store::held_out_points(index, axis)) {
        const ColumnTexts columns = columns_of(index, point);
        const auto found = operators.find(columns.at("op_name"));
        if (found == operators.end()) continue;
        for (const Operator* op : found->second)
          add_point(*op, columns, index.size_columns()[axis], point);
      }
    }
  }

  // The cases with the largest errors come first.
  [[nodiscard]] std::vector<PlannedCase> cases_of(const Operator& op) const {
    std::vector<const Candidate*> found;
    for (const auto& [id, candidate] : candidates_) {
      if (&candidate.measured.op() == &op) found.push_back(&candidate);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Candidate* a, const Candidate* b) { return a->error > b->error; });
    std::vector<PlannedCase> cases;
    for (const Candidate* candidate : found)
      cases.push_back(planned_case(candidate->measured));
    return cases;
  }

  [[nodiscard]] std::int64_t tested() const { return tested_; }

  [[nodiscard]] std::int64_t beyond() const { return beyond_; }

 private:
  struct Candidate {
    Case measured;
    double error = 0;  // the largest error of the points that the case lies beside
  };

  static bool is_of_a_sweep(const Operator& op, const Case& point) {
    return op.takes(point) || (op.takes_for_models && op.takes_for_models(point));
  }

  void add_point(const Operator& op,
                 const ColumnTexts& columns,
                 const std::string& size,
                 const store::HeldOutPoint& point) {
    const std::optional<Case> here = case_with(op, columns);
    if (!here || !known_.ids.contains(here->id())) return;
    ++tested_;
    if (point.error <= limit_) return;
    ++beyond_;
    // A case that was asked for by name need not be one that a sweep takes; neither need its
    // neighbours.
    const bool is_guarded = op.takes && is_of_a_sweep(op, *here);
    for (const auto& [low, high] :
         {std::pair(point.low, point.size), std::pair(point.size, point.high)}) {
      const auto middle = middle_of(std::llround(low), std::llround(high));
      if (!middle) continue;
      ColumnTexts between = columns;
      between[size] = std::to_string(*middle);
      std::optional<Case> made = case_with(op, between);
      if (!made || (is_guarded && !is_of_a_sweep(op, *made))) continue;
      add_case(std::move(*made), point.error);
    }
  }

  void add_case(Case made, double error) {
    std::string id = made.id();
    if (known_.ids.contains(id)) return;
    const auto [at, is_new] =
        candidates_.try_emplace(std::move(id), Candidate{.measured = std::move(made)});
    at->second.error = std::max(at->second.error, error);
  }

  Known known_;
  double limit_;
  std::map<std::string, Candidate> candidates_;  // by id
  std::int64_t tested_ = 0;
  std::int64_t beyond_ = 0;
};

// The wanted operators among those that wrote rows of a table, by op_name.
std::map<std::string, Operators> wanted_of(
    const std::map<std::string, std::set<std::string>>& names, const Operators& wanted) {
  std::map<std::string, Operators> by_op_name;
  for (const auto& [op_name, writers] : names) {
    for (const Operator* op : wanted) {
      if (writers.contains(op->name)) by_op_name[op_name].push_back(op);
    }
  }
  return by_op_name;
}

using Places = std::vector<std::size_t>;

// The places of the measured cases by operator; operators and places are in random order.
std::vector<Places> shuffled_places(const std::vector<store::StoredCase>& cases,
                                    std::uint64_t seed) {
  std::map<std::string, Places> by_operator;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].outcome != store::CaseOutcome::kMeasured) continue;
    by_operator[cases[i].operator_name].push_back(i);
  }
  std::mt19937_64 random(seed);
  std::vector<Places> operators;
  for (auto& [name, places] : by_operator) {
    shuffle(places, random);
    operators.push_back(std::move(places));
  }
  shuffle(operators, random);
  return operators;
}

}  // namespace

std::optional<std::int64_t> middle_of(std::int64_t low, std::int64_t high) {
  if (low <= 0 || high - low < 2) return std::nullopt;
  const double mean = std::sqrt(static_cast<double>(low) * static_cast<double>(high));
  std::int64_t unit = 1;
  while (low % (2 * unit) == 0 && high % (2 * unit) == 0)
    unit *= 2;
  for (; unit > 1; unit /= 2) {
    const auto middle = std::llround(mean / static_cast<double>(unit)) * unit;
    if (middle > low && middle < high) return middle;
  }
  return std::clamp(std::int64_t{std::llround(mean)}, low + 1, high - 1);
}

std::string why_nothing_to_refine(const Refinement& refinement, double limit) {
  if (refinement.tested == 0) {
    return "nothing to refine: no point of these operators has two neighbours along a size";
  }
  if (refinement.beyond == 0) {
    return fmt::format("nothing to refine: each of {} is within {:g} %",
                       core::counted(refinement.tested, "prediction"), limit * 100);
  }
  return fmt::format(
      "nothing to refine: {} of {} {} off by more than {:g} %, and no case is left to measure "
      "beside "
      "{}",
      refinement.beyond, core::counted(refinement.tested, "prediction"),
      refinement.beyond == 1 ? "is" : "are", limit * 100, refinement.beyond == 1 ? "it" : "them");
}

core::Result<Refinement> plan_refinement(const store::Store& store, const RefineRequest& request) {
  const store::Run run = ASSAY_TRY(store.run(request.run));
  Known known = ASSAY_TRY(known_of(store, request.run, run.device));
  const auto names_of_table = known.names;
  Refiner refiner(std::move(known), request.limit);
  for (const auto& [table, names] : names_of_table) {
    const auto operators = wanted_of(names, request.options.operators);
    if (operators.empty()) continue;
    const store::Frame frame = ASSAY_TRY(store.table({.table = table,
                                                      .framework = framework_of(run),
                                                      .device = run.device,
                                                      .last_run = request.run},
                                                     store::Store::Columns::kPublic));
    if (frame.num_rows() == 0) continue;
    refiner.add_table(ASSAY_TRY(store::TableIndex::make(table, frame, nullptr)), operators);
  }
  Refinement made{.plan = {}, .tested = refiner.tested(), .beyond = refiner.beyond()};
  for (const Operator* op : request.options.operators) {
    for (PlannedCase& planned : select_cases(refiner.cases_of(*op), request.options))
      made.plan.cases.push_back(std::move(planned));
  }
  made.plan.hash = plan_hash(made.plan.cases);
  return made;
}

std::vector<store::StoredCase> draw_measured(std::vector<store::StoredCase> cases,
                                             std::int64_t count,
                                             std::uint64_t seed) {
  const std::vector<Places> operators = shuffled_places(cases, seed);
  std::size_t rounds = 0;
  for (const Places& places : operators)
    rounds = std::max(rounds, places.size());
  Places drawn;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const Places& places : operators) {
      const bool enough = static_cast<std::int64_t>(drawn.size()) >= count;
      if (!enough && round < places.size()) drawn.push_back(places[round]);
    }
  }
  std::sort(drawn.begin(), drawn.end());
  std::vector<store::StoredCase> chosen;
  chosen.reserve(drawn.size());
  for (const std::size_t place : drawn)
    chosen.push_back(std::move(cases[place]));
  return chosen;
}

core::Result<RerunPlan> plan_rerun(const store::Store& store,
                                   std::int64_t run,
                                   std::int64_t count,
                                   std::uint64_t seed) {
  RerunPlan made;
  const auto drawn = draw_measured(ASSAY_TRY(store.cases(run)), count, seed);
  if (drawn.empty()) {
    return core::Error{"nothing to measure again: the newest collection has no measured case"};
  }
  for (const store::StoredCase& stored : drawn) {
    const auto known = case_of(stored.id);
    if (known.ok()) {
      made.plan.cases.push_back(planned_case(known.value()));
    } else {
      made.unknown.push_back(stored.id);
    }
  }
  made.plan.hash = plan_hash(made.plan.cases);
  return made;
}

}  // namespace assay::collect
