#include "cli/store_coverage.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "collect/plan/operator.h"
#include "collect/run/earlier_run.h"
#include "collect/run/reports.h"
#include "collect/run/run_state.h"

namespace assay::cli {

core::Result<std::vector<Coverage>> read_coverage(const store::Store& store,
                                                  const std::string& table) {
  std::vector<Coverage> coverages;
  std::optional<std::int64_t> id = ASSAY_TRY(store.last_run(collect::kCollectRun));
  while (id) {
    const store::Run run = ASSAY_TRY(store.run(*id));
    collect::Tally tally = ASSAY_TRY(collect::tally_of(store, *id, [&](const std::string& name) {
      const collect::Operator* known = collect::find_operator(name);
      return table.empty() || (known != nullptr && known->table == table);
    }));
    const std::optional<std::int64_t> refined = collect::refined_by(run);
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

std::vector<model::Table> coverage_tables(const Coverage& coverage) {
  std::vector<model::Table> tables = collect::tally_book(coverage.tally).tables;
  tables.front().title = fmt::format(
      "Cases of {}, of {}", coverage.is_refinement ? "its refinement" : "the newest collection",
      coverage.started_at);
  return tables;
}

}  // namespace assay::cli
