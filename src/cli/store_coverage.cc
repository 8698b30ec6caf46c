#include "cli/store_coverage.h"

#include <fmt/core.h>

#include <utility>

#include "collect/operator.h"
#include "collect/reports.h"
#include "collect/run_state.h"

namespace assay::cli {

core::Result<Coverage> read_coverage(const store::Store& store, const std::string& table) {
  Coverage coverage{.started_at = {},
                    .tally = collect::Tally(std::vector<collect::OperatorTally>())};
  const auto run = ASSAY_TRY(store.last_run(collect::kCollectRun));
  if (!run) return coverage;
  coverage.started_at = ASSAY_TRY(store.run(*run)).started_at;
  coverage.tally = ASSAY_TRY(collect::tally_of(store, *run, [&](const std::string& name) {
    const collect::Operator* of = collect::find_operator(name);
    return table.empty() || (of != nullptr && of->table == table);
  }));
  return coverage;
}

std::vector<model::Table> coverage_tables(const Coverage& coverage) {
  if (coverage.tally.operators().empty()) return {};
  std::vector<model::Table> tables = collect::tally_book(coverage.tally).tables;
  tables.front().title = fmt::format("Cases of the newest collection, of {}", coverage.started_at);
  return tables;
}

}  // namespace assay::cli
