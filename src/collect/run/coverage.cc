#include "collect/run/coverage.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "collect/plan/operator.h"
#include "collect/run/earlier_run.h"
#include "collect/run/reports.h"
#include "collect/run/run_state.h"

namespace assay::collect {

std::vector<store::CasesFound> Coverage::findings() const {
  const auto missing_weight = is_refinement ? store::Weight::kRemark : store::Weight::kProblem;
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
      "Cases of {}, of {}", is_refinement ? "its refinement" : "the newest collection", started_at);
  return tables;
}

core::Result<std::vector<Coverage>> read_coverage(const store::Store& store,
                                                  const std::string& table) {
  std::vector<Coverage> coverages;
  std::optional<std::int64_t> id = ASSAY_TRY(store.last_run(kCollectRun));
  while (id) {
    const store::Run run = ASSAY_TRY(store.run(*id));
    Tally tally = ASSAY_TRY(tally_of(store, *id, [&](const std::string& name) {
      const Operator* known = find_operator(name);
      return table.empty() || (known != nullptr && known->table == table);
    }));
    const std::optional<std::int64_t> refined = refined_by(run);
    if (!tally.operators().empty()) {
      coverages.insert(coverages.begin(), {.started_at = run.started_at,
                                           .is_refinement = refined.has_value(),
                                           .tally = std::move(tally)});
    }
    // A run that refines points of another store records a run number of that store.
    id = refined && *refined < *id ? refined : std::nullopt;
  }
  return coverages;
}

}  // namespace assay::collect
