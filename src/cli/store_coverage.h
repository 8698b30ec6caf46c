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
  std::string started_at;  // start of the collection
  // The cases of a refinement lie between other points, so a missing one leaves no gap in a table.
  bool is_refinement = false;
  collect::Tally tally;
};

// Returns the collections, first a grid and then its refinements, with their operators of one
// table, or of all tables if the name is empty. Leaves out collections by versions of assay that
// did not record the expected cases.
core::Result<std::vector<Coverage>> read_coverage(const store::Store& store,
                                                  const std::string& table);

// Returns tables of counts by operator, failures by class and skips by reason.
std::vector<model::Table> coverage_tables(const Coverage& coverage);

}  // namespace assay::cli
