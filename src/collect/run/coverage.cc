#include "collect/run/coverage.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "collect/plan/operator.h"
#include "collect/plan/run_record.h"
#include "collect/run/earlier_run.h"
#include "collect/run/reports.h"
#include "collect/run/run_state.h"

namespace assay::collect {

std::vector<store::CasesFound> Coverage::findings() const {
  const auto missing_weight = is_addition ? store::Weight::kRemark : store::Weight::kProblem;
  std::vector<store::CasesFound> found;
  for (const OperatorTally& operator_tally : tally.operators()) {
    const auto add = [&](const char* finding, store::Weight weight, std::int64_t count) {
      if (count > 0)
        found.push_back({operator_tally.name, finding, weight, count, operator_tally.expected});
    };
    add("missing cases", missing_weight, operator_tally.missing());
    add("failed cases", store::Weight::kRemark, operator_tally.failed);
  }
  return found;
}

std::vector<model::Table> Coverage::tables() const {
  std::vector<model::Table> tables = tally_book(tally).tables;
  tables.front().title = fmt::format(
      "Cases of {}, of {}", is_addition ? "what was added to it" : "the collection", started_at);
  return tables;
}

namespace {

// Returns whether the run left out what another store had, or was a sample. Where such a run
// is the first of a store, the others lie elsewhere.
bool adds_to_others(const store::StoredRun& stored, std::int64_t oldest) {
  const auto settings = recorded_settings(stored.run);
  const bool is_sample = fact_of(settings, "--limit").find_first_not_of('0') != std::string::npos;
  return stored.id != oldest && (is_sample || !fact_of(settings, "--unless-in").empty());
}

}  // namespace

core::Result<std::vector<Coverage>> read_coverage(const store::Store& store,
                                                  const std::string& table) {
  std::vector<store::StoredRun> runs = ASSAY_TRY(store.runs());
  std::map<std::int64_t, std::int64_t> roots;  // of each collection, the one that it goes back to
  std::vector<Coverage> coverages;
  for (const store::StoredRun& stored : runs) {
    if (stored.run.kind != kCollectRun) continue;
    // A run that refines points of another store records a run number of that store.
    const std::optional<std::int64_t> refined = refined_by(stored.run);
    const auto root = refined ? roots.find(*refined) : roots.end();
    roots[stored.id] = root == roots.end() ? stored.id : root->second;
  }
  const std::int64_t oldest = roots.empty() ? 0 : roots.begin()->first;
  std::map<std::string, std::int64_t> newest;  // root of the collection that counts, by operator
  std::reverse(runs.begin(), runs.end());
  for (const store::StoredRun& stored : runs) {
    if (stored.run.kind != kCollectRun) continue;
    const std::int64_t root = roots.at(stored.id);
    const bool adds = adds_to_others(stored, oldest);
    Tally tally = ASSAY_TRY(tally_of(store, stored.id, [&](const std::string& name) {
      const Operator* known = find_operator(name);
      const bool is_asked = table.empty() || (known != nullptr && known->table == table);
      if (!is_asked) return false;
      return adds ? !newest.contains(name) : newest.emplace(name, root).first->second == root;
    }));
    if (tally.operators().empty()) continue;
    coverages.insert(coverages.begin(), {.started_at = stored.run.started_at,
                                         .is_addition = adds || refined_by(stored.run).has_value(),
                                         .tally = std::move(tally)});
  }
  return coverages;
}

}  // namespace assay::collect
