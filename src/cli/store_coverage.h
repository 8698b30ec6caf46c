// `store check`: what the plans of the newest collection and of those that it refines expected,
// against what is there.
#pragma once

#include <string>
#include <vector>

#include "collect/run/tally.h"
#include "core/result.h"
#include "model/table.h"
#include "store/database/store.h"

namespace assay::cli {

struct Coverage {
  std::string started_at;  // of the collection
  // Its cases are points between others: where they are missing, the tables have no gap.
  bool is_refinement = false;
  collect::Tally tally;
};

// Of the operators of one table, or all (an empty name): a grid, then its refinements. None of
// those that an assay made that did not record what it expected.
core::Result<std::vector<Coverage>> read_coverage(const store::Store& store,
                                                  const std::string& table);

// Counts by operator, failures by class, skips by reason.
std::vector<model::Table> coverage_tables(const Coverage& coverage);

}  // namespace assay::cli
