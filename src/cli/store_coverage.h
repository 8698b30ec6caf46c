// `store check`: compares what the plans of the newest collection and of those that it refines
// expected with what the store holds.
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
  // The cases of a refinement are points between others: without them the tables have no gap.
  bool is_refinement = false;
  collect::Tally tally;
};

// The collections with their operators of one table, or all (an empty name): a grid, then its
// refinements. Collections by versions of assay that did not record what they expected are left
// out.
core::Result<std::vector<Coverage>> read_coverage(const store::Store& store,
                                                  const std::string& table);

// Tables of counts by operator, failures by class and skips by reason.
std::vector<model::Table> coverage_tables(const Coverage& coverage);

}  // namespace assay::cli
