#include "collect/plan/rerun.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

namespace assay::collect {
namespace {

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
